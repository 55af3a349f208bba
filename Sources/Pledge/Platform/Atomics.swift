import Synchronization

// The library's only way to atomics: these names. Everything that another thread can see or wait
// for, and every call of Dispatch or of the C library, goes through this folder, so that a test
// build can put a scheduler of its own in its place, and a port finds its work in one folder.

@usableFromInline typealias AtomicWord = Atomic<UInt64>
@usableFromInline typealias AtomicPointerBits = Atomic<UInt>
@usableFromInline typealias AtomicCounter = Atomic<Int>
@usableFromInline typealias AtomicFlag = Atomic<Bool>

extension Atomic where Value == UInt64 {
  /// Stores `value` to give up a lock that is a bit of this word.
  ///
  /// LLVM moves a `swift_retain` down past stores, atomic ones included. A retain that left the lock
  /// would come too late: another thread may release the object in between, and free it. It does not
  /// move past a fence, which on x86 is no instruction.
  @inline(__always)
  borrowing func unlock(storing value: UInt64) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)
  }
}
