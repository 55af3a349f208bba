import Synchronization

/// `Synchronization.Mutex`, made visible to ThreadSanitizer.
///
/// On Linux the sanitizer does not see a contended lock change hands, as that happens inside the
/// kernel, and reports what the lock guards as a race. The two atomic accesses show it the order;
/// they cost next to nothing. A bare closure as `Value` gets one more thunk at each access: put it
/// into a struct.
package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
  private let mutex: Synchronization.Mutex<Value>
  private let order = Atomic<UInt>(0)

  package init(_ value: consuming sending Value) { mutex = Synchronization.Mutex(value) }

  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try mutex.withLock { (value) throws(Failure) -> sending Result in
      _ = order.load(ordering: .acquiring)
      defer { order.store(0, ordering: .releasing) }
      return try body(&value)
    }
  }
}
