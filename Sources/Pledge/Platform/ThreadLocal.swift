#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A thread-local pointer.
enum ThreadLocal {
  /// A struct, because a closure that is used directly as a generic argument needs one more thunk
  /// at each access.
  private struct Destructor { var destroy: (@Sendable (UnsafeMutableRawPointer) -> Void)? }

  private static let destructor = Mutex(Destructor())

  /// The current thread's pointer, or nil if it hasn't set one.
  @inline(__always)
  static var pointer: UnsafeMutableRawPointer? {
    let key = withAtomic(&threadLocalKey) { $0.load(ordering: .relaxed) }
    return key == 0 ? nil : pthread_getspecific(pthread_key_t(truncatingIfNeeded: key &- 1))
  }

  /// Sets the current thread's pointer; `destroy` is called with it when the thread exits.
  ///
  /// Each call must pass the same `destroy`.
  static func set(
    _ pointer: UnsafeMutableRawPointer,
    destroy: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
  ) {
    destructor.withLock { $0.destroy = destroy }
    pthread_setspecific(key, pointer)
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key) { pointer in
      let pointer: UnsafeMutableRawPointer? = pointer
      let destructor = ThreadLocal.destructor.withLock { $0 }
      if let pointer { destructor.destroy?(pointer) }
    }
    precondition(failure == 0, "Pledge: the process has no thread-specific key left")
    withAtomic(&threadLocalKey) { $0.store(UInt64(key) + 1, ordering: .relaxed) }
    return key
  }()
}

/// `ThreadLocal.key` plus one, or zero before the key exists; fast to read.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var threadLocalKey: UInt64 = 0
