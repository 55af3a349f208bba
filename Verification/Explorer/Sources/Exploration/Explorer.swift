import CExplorer

/// What atomics and loops that wait for another thread call.
public enum Explorer {
  /// Whether the caller is a virtual thread of a run.
  @inline(__always)
  public static var isExploring: Bool { explorer_self() >= 0 }

  /// To be called before each access; another thread may run first.
  public static func willLoad(_ address: UnsafeRawPointer) {
    Scheduler.point(.load, UInt(bitPattern: address))
  }
  public static func willStore(_ address: UnsafeRawPointer) {
    Scheduler.point(.store, UInt(bitPattern: address))
  }
  public static func willUpdate(_ address: UnsafeRawPointer) {
    Scheduler.point(.update, UInt(bitPattern: address))
  }

  /// To be called after each access that changed a value.
  public static func didWrite() { if explorer_self() >= 0 { Scheduler.noteWrite() } }

  /// To be called by a loop that waits until another thread has written something.
  public static func yield() { Scheduler.yield() }

  /// Whether loads may return older values.
  @inline(__always)
  public static var hasStaleLoads: Bool { Scheduler.hasStaleLoads }

  /// What a load of `address` returns, where `latest` is the latest value.
  public static func loaded(
    _ address: UnsafeRawPointer, latest: UInt64, acquires: Bool, isSequential: Bool
  ) -> UInt64 {
    Memory.load(
      UInt(bitPattern: address), latest: latest, acquires: acquires, isSequential: isSequential)
  }

  /// To be called when `value` has taken the place of `old`.
  public static func didStore(
    _ address: UnsafeRawPointer, old: UInt64, value: UInt64, releases: Bool, acquires: Bool,
    isUpdate: Bool
  ) {
    Memory.store(
      UInt(bitPattern: address), old: old, value: value, releases: releases, acquires: acquires,
      isUpdate: isUpdate)
  }

  /// Whether a weak compare-and-exchange fails although the value is the expected one.
  public static func failsForNoReason() -> Bool { Memory.failsForNoReason() }

  /// To be called when the atomic value at `address` is gone.
  public static func forget(_ address: UnsafeRawPointer) {
    if Scheduler.hasStaleLoads { Memory.forget(UInt(bitPattern: address)) }
  }

  public static func fence() { Memory.fence() }
}
