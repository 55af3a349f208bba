import Builtin

#if canImport(Darwin)
  import os
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

// The lock is the system's: `os_unfair_lock` on Apple platforms, elsewhere the C library's mutex.
// `Synchronization.Mutex` needs macOS 15 and iOS 18, and on Linux, eight threads that contend for
// it get a hundredth of the throughput of one thread: the kernel passes the lock on from waiter to
// waiter, and each time switches threads. ThreadSanitizer can't follow that, either.

/// A value that one thread at a time can access.
///
/// The lock and the value are stored inline, without an allocation; see `Atomics.swift` for why
/// their addresses stay the same. A closure that is used as `Value` directly needs one more thunk
/// at each access, so wrap it in a struct.
///
/// `@unchecked Sendable`: the value is only accessed under the lock.
@_staticExclusiveOnly
package struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  #if canImport(Darwin)
    private let lock = InPlace(os_unfair_lock())
  #else
    // All zeros, which is `PTHREAD_MUTEX_INITIALIZER` in Glibc, Musl, and Bionic. It holds no
    // resources, so that it need not be destroyed.
    private let lock = InPlace(pthread_mutex_t())
  #endif
  private let storage: InPlace<Value>

  package init(_ value: consuming sending Value) { storage = InPlace(value) }

  package borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if canImport(Darwin)
      os_unfair_lock_lock(lock.address)
      defer { os_unfair_lock_unlock(lock.address) }
    #else
      pthread_mutex_lock(lock.address)
      defer { pthread_mutex_unlock(lock.address) }
    #endif
    return try body(&storage.address.pointee)
  }
}

/// A value with a stable address that can be changed while it is borrowed.
///
/// It must be movable as bytes, which everything is but a struct with a weak reference. (With
/// `movesAsLike`, which lifts this restriction, a debug build of Swift 6.3 never destroys the value.)
///
/// Not private, because the other modules store locks: in their optimized builds, the compiler refers to
/// this type, and fails if its symbols are private.
@_staticExclusiveOnly @_rawLayout(like: Value)
package struct InPlace<Value: ~Copyable>: ~Copyable {
  var address: UnsafeMutablePointer<Value> {
    UnsafeMutablePointer(Builtin.addressOfRawLayout(self))
  }

  init(_ value: consuming Value) { address.initialize(to: value) }

  deinit { address.deinitialize(count: 1) }
}
