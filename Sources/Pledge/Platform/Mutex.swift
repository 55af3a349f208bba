// `Synchronization.Mutex` where there is one, and on Apple's systems, where it needs macOS 15 and
// iOS 18, a lock of the library's own. PLEDGE_OWN_MUTEX takes that on other systems, too, over a lock
// of the C library's: for testing.

#if !canImport(Darwin) && !PLEDGE_OWN_MUTEX
  import Synchronization

  /// `Synchronization.Mutex`, made visible to ThreadSanitizer.
  ///
  /// On Linux the sanitizer does not see a contended lock change hands, as that happens inside the
  /// kernel, and reports what the lock guards as a race. The two atomic accesses show it the order;
  /// they cost next to nothing. A bare closure as `Value` gets one more thunk at each access: put it
  /// into a struct.
  package struct Mutex<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Synchronization.Mutex<Value>
    private let order = AtomicPointerBits(0)

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
#else
  import Builtin

  #if canImport(Darwin)
    import os
  #elseif canImport(Musl)
    import Musl
  #else
    import Glibc
  #endif

  /// A value that one thread at a time may access.
  ///
  /// Both the lock and the value lie where the mutex is, without an allocation; see `Atomics.swift`
  /// for why their addresses hold. A bare closure as `Value` gets one more thunk at each access: put
  /// it into a struct.
  ///
  /// `@unchecked Sendable`: the value is only accessed under the lock.
  @_staticExclusiveOnly
  package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let lock = Lock()
    private let storage: InPlace<Value>

    package init(_ value: consuming sending Value) { storage = InPlace(value) }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      lock.lock()
      defer { lock.unlock() }
      return try body(&storage.address.pointee)
    }
  }

  /// A value that stays where it is and can be changed while it is borrowed.
  @_staticExclusiveOnly @_rawLayout(like: Value, movesAsLike)
  private struct InPlace<Value: ~Copyable>: ~Copyable {
    var address: UnsafeMutablePointer<Value> {
      UnsafeMutablePointer(Builtin.addressOfRawLayout(self))
    }

    init(_ value: consuming Value) { address.initialize(to: value) }

    deinit { address.deinitialize(count: 1) }
  }

  #if canImport(Darwin)
    private struct Lock: ~Copyable {
      private let handle = InPlace(os_unfair_lock())

      func lock() { os_unfair_lock_lock(handle.address) }
      func unlock() { os_unfair_lock_unlock(handle.address) }
    }
  #else
    private struct Lock: ~Copyable {
      private let handle = InPlace(pthread_mutex_t())

      init() { pthread_mutex_init(handle.address, nil) }

      deinit { pthread_mutex_destroy(handle.address) }

      func lock() { pthread_mutex_lock(handle.address) }
      func unlock() { pthread_mutex_unlock(handle.address) }
    }
  #endif
#endif
