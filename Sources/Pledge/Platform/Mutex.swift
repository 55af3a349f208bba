// `Synchronization.Mutex`, except on Apple platforms, where it needs macOS 15 and iOS 18; there,
// this file provides the library's own mutex. For testing, PLEDGE_OWN_MUTEX selects that mutex on
// other platforms, too, where it uses a lock of the C library.

#if !canImport(Darwin) && !PLEDGE_OWN_MUTEX
  import Synchronization

  /// `Synchronization.Mutex`, made visible to ThreadSanitizer.
  ///
  /// On Linux, a contended lock changes its holder inside the kernel, which the sanitizer doesn't
  /// see; it then reports accesses to the guarded value as a race. The two atomic accesses make the
  /// order visible, at a negligible cost. A closure that is used as `Value` directly needs one more
  /// thunk at each access, so wrap it in a struct.
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

  /// A value that one thread at a time can access.
  ///
  /// The lock and the value are stored inline, without an allocation; see `Atomics.swift` for why
  /// their addresses stay the same. A closure that is used as `Value` directly needs one more thunk
  /// at each access, so wrap it in a struct.
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

  /// A value with a stable address that can be changed while it is borrowed.
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
