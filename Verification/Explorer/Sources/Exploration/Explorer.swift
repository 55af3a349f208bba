import CExplorer
import Glibc

/// What atomics and loops that wait for another thread call.
package enum Explorer {
  /// Whether the caller is a virtual thread of a run.
  @inline(__always)
  package static var isExploring: Bool { explorer_self() >= 0 }

  nonisolated(unsafe) private static var lastIdentity: UInt = 0

  /// Makes a number for an atomic value, which no other one has; odd, unlike addresses.
  package static func makeIdentity() -> UInt {
    lastIdentity += 2
    return lastIdentity - 1
  }

  /// Whether objects that are made later count as lying at lower addresses.
  nonisolated(unsafe) package fileprivate(set) static var reversesOrder = false

  package static func reverseOrder(_ isReversed: Bool) { reversesOrder = isReversed }

  nonisolated(unsafe) private static var globals: [UnsafeRawPointer: AnyObject] = [:]

  /// The object that stands for the global variable at `address`, made by `make` at first.
  package static func global(_ address: UnsafeRawPointer, make: () -> AnyObject) -> AnyObject {
    if let object = globals[address] { return object }
    let object = make()
    globals[address] = object
    return object
  }

  /// To be called before each access; another thread may run first.
  package static func willLoad(_ identity: UInt) { Scheduler.point(.load, identity) }
  package static func willStore(_ identity: UInt) { Scheduler.point(.store, identity) }
  package static func willUpdate(_ identity: UInt) { Scheduler.point(.update, identity) }

  /// To be called after each access that changed a value.
  package static func didWrite() { if explorer_self() >= 0 { Scheduler.noteWrite() } }

  /// To be called by a loop that waits until another thread has written something.
  package static func yield() { Scheduler.yield() }

  /// Lets no other thread run while `body` does, but where that has to wait for one.
  package static func uninterrupted(_ body: () -> Void) {
    let current = Int(explorer_self())
    let outer = Scheduler.privileged
    Scheduler.privileged = current
    body()
    Scheduler.privileged = outer
  }

  /// Whether loads may return older values.
  @inline(__always)
  package static var hasStaleLoads: Bool { Scheduler.hasStaleLoads }

  /// What a load returns, where `latest` is the latest value.
  package static func loaded(
    _ identity: UInt, latest: UInt64, acquires: Bool, isSequential: Bool
  ) -> UInt64 {
    Memory.load(identity, latest: latest, acquires: acquires, isSequential: isSequential)
  }

  /// To be called when `value` has taken the place of `old`.
  package static func didStore(
    _ identity: UInt, old: UInt64, value: UInt64, releases: Bool, acquires: Bool, isUpdate: Bool
  ) {
    Memory.store(
      identity, old: old, value: value, releases: releases, acquires: acquires,
      isUpdate: isUpdate)
  }

  /// Whether a weak compare-and-exchange fails although the value is the expected one.
  package static func failsForNoReason() -> Bool { Memory.failsForNoReason() }

  /// To be called when the last reference to an object has gone.
  ///
  /// All that others did with it came before. The scheduler does not see references, so it takes
  /// all that all threads did for that.
  package static func releasedLast() { Memory.joinAll() }

  /// Which planted fault is on: the value of EXPLORER_MUTANT, or 0.
  package static let mutant = getenv("EXPLORER_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

  /// Runs the blocks and timers that a check has set off.
  package static func runRemaining() { Scheduler.runRemaining() }

  /// To be called for a fence that acquires.
  package static func fence() { Memory.fence() }
}
