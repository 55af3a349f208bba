#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// One pointer for each thread.
enum ThreadLocal {
  /// In a struct, since a bare closure gets one more thunk at each access to a generic type.
  private struct Destructor { var destroy: (@Sendable (UnsafeMutableRawPointer) -> Void)? }

  private static let destructor = Mutex(Destructor())

  /// What this thread has set, or nil.
  @inline(__always)
  static var pointer: UnsafeMutableRawPointer? {
    let key = withAtomic(&threadLocalKey) { $0.load(ordering: .relaxed) }
    return key == 0 ? nil : pthread_getspecific(pthread_key_t(key - 1))
  }

  /// Sets this thread's pointer, for which `destroy` is called when the thread ends.
  ///
  /// `destroy` is the same in each call.
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
    withAtomic(&threadLocalKey) { $0.store(UInt(key) + 1, ordering: .relaxed) }
    return key
  }()
}

/// `ThreadLocal.key` plus one, or zero while there is none: quick to read.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var threadLocalKey: UInt = 0
