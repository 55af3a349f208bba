import Exploration

/// A replacement for `Synchronization.Mutex` whose holder is known to the explorer.
///
/// `@unchecked Sendable`: the value is guarded by the lock, or used while no run is in progress.
public struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  private let value: UnsafeMutablePointer<Value>
  private let gate = VirtualLock()

  public init(_ initialValue: consuming sending Value) {
    value = .allocate(capacity: 1)
    value.initialize(to: initialValue)
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
  }

  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    gate.lock()
    defer { gate.unlock() }
    return try body(&value.pointee)
  }
}
