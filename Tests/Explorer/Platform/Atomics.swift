public import VirtualPlatform

@usableFromInline package typealias Atomic = VirtualPlatform.Atomic
@usableFromInline typealias AtomicWord = VirtualPlatform.Atomic<UInt64>
@usableFromInline typealias AtomicCounter = VirtualPlatform.Atomic<Int>
@usableFromInline typealias AtomicFlag = VirtualPlatform.Atomic<Bool>

extension VirtualPlatform.Atomic where Value == UInt64 {
  /// Stores `value`, which releases a lock that is a bit of this word.
  borrowing func unlock(storing value: UInt64) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)
  }
}
