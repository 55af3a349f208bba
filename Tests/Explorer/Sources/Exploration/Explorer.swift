import CExplorer
import Glibc

/// The functions that atomics and spin loops call.
package enum Explorer {
  nonisolated(unsafe) private static var lastIdentity: UInt = 0

  /// Returns a unique number for an atomic value; odd, unlike addresses.
  package static func makeIdentity() -> UInt {
    lastIdentity += 2
    return lastIdentity - 1
  }

  /// Whether objects that are created later count as having lower addresses.
  nonisolated(unsafe) package internal(set) static var reversesOrder = false

  nonisolated(unsafe) private static var globals: [UnsafeRawPointer: AnyObject] = [:]

  /// Returns the object for the global variable at `address`, which `make` creates on first use.
  package static func global(_ address: UnsafeRawPointer, make: () -> AnyObject) -> AnyObject {
    if let object = globals[address] { return object }
    let object = make()
    globals[address] = object
    return object
  }

  /// Must be called before each access; another thread may run first.
  package static func willLoad(_ identity: UInt) { Scheduler.point(.load, identity) }
  package static func willStore(_ identity: UInt) { Scheduler.point(.store, identity) }
  package static func willUpdate(_ identity: UInt) { Scheduler.point(.update, identity) }

  /// Must be called after each access that changed a value.
  package static func didWrite() { if explorer_self() >= 0 { Scheduler.noteWrite() } }

  /// Must be called by a loop that waits until another thread has written something.
  package static func yield() { Scheduler.yield() }

  /// Runs `body` without running other threads, except while it has to wait for one.
  package static func uninterrupted(_ body: () -> Void) {
    let outer = Scheduler.privileged
    defer { Scheduler.privileged = outer }
    Scheduler.privileged = Int(explorer_self())
    body()
  }

  /// Whether loads may return older values.
  @inline(__always)
  package static var hasStaleLoads: Bool { Scheduler.hasStaleLoads }

  /// Must be called when the last reference to an object has been released.
  ///
  /// Other threads' accesses to the object happened before. The scheduler doesn't see references,
  /// so it orders all steps of all threads before this point.
  package static func releasedLast() { Memory.joinAll() }

  /// The number of the active planted fault (the value of EXPLORER_FAULT), or 0.
  package static let plantedFault =
    getenv("EXPLORER_FAULT").flatMap { Int(String(cString: $0)) } ?? 0

  /// Runs the remaining blocks and timers that a check has started.
  package static func runRemaining() { Scheduler.runRemaining() }
}
