import Synchronization

// The library's only way to atomics: these names. Everything that another thread can see or wait
// for, and every call of Dispatch or of the C library, goes through this folder, so that a test
// build can put a scheduler of its own in its place, and a port finds its work in one folder.

@usableFromInline typealias AtomicWord = Atomic<UInt64>
@usableFromInline typealias AtomicPointerBits = Atomic<UInt>
@usableFromInline typealias AtomicCounter = Atomic<Int>
@usableFromInline typealias AtomicFlag = Atomic<Bool>
