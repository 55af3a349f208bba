import Dispatch
import Testing

@testable import Pledge

@Suite struct AtomicsTests {
  private final class Words: Sendable {
    let byte = Atomic<UInt8>(7)
    let half = Atomic<UInt32>(7)
    let word = Atomic<UInt64>(7)
    let int = Atomic(7)
    let flag = Atomic(false)
  }

  @Test func eachWord_hasItsOwnPlace() {
    let words = Words()
    words.byte.store(1, ordering: .releasing)
    words.half.store(2, ordering: .relaxed)
    words.word.store(3, ordering: .releasing)
    words.int.store(-4, ordering: .relaxed)
    words.flag.store(true, ordering: .releasing)
    #expect(words.byte.load(ordering: .acquiring) == 1)
    #expect(words.half.load(ordering: .relaxed) == 2)
    #expect(words.word.load(ordering: .acquiring) == 3)
    #expect(words.int.load(ordering: .acquiring) == -4)
    let flag = words.flag.load(ordering: .acquiring)
    #expect(flag)
  }

  @Test func updates_returnTheOldValueAndTheNew() {
    let words = Words()
    #expect(words.int.add(3, ordering: .relaxed) == (7, 10))
    #expect(words.int.subtract(4, ordering: .acquiring) == (10, 6))
    #expect(words.int.wrappingSubtract(7, ordering: .releasing) == (6, -1))
    #expect(words.byte.wrappingAdd(250, ordering: .acquiringAndReleasing) == (7, 1))
    #expect(words.half.bitwiseOr(8, ordering: .relaxed) == (7, 15))
    #expect(words.half.bitwiseAnd(3, ordering: .releasing) == (15, 3))
    #expect(words.word.exchange(.max, ordering: .acquiring) == 7)
    #expect(words.word.load(ordering: .relaxed) == .max)
    let flag = words.flag.exchange(true, ordering: .acquiringAndReleasing)
    #expect(!flag)
  }

  @Test func compareExchange_exchangesTheExpectedValueOnly() {
    let words = Words()
    #expect(words.int.compareExchange(expected: 8, desired: 1, ordering: .relaxed) == (false, 7))
    #expect(words.int.compareExchange(expected: 7, desired: 1, ordering: .releasing) == (true, 7))
    var attempts = 0
    while !words.int.weakCompareExchange(expected: 1, desired: 2, ordering: .acquiring).exchanged {
      attempts += 1
      if attempts > 1000 { break }
    }
    #expect(words.int.load(ordering: .relaxed) == 2)
  }

  @Test func manyThreads_countEachOfTheirSteps() {
    let words = Words()
    let mutex = Guarded()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<1000 {
        words.int.wrappingAdd(1, ordering: .relaxed)
        words.byte.wrappingAdd(1, ordering: .relaxed)
        mutex.count.withLock { $0 += 1 }
      }
    }
    #expect(words.int.load(ordering: .relaxed) == 8007)
    #expect(words.byte.load(ordering: .relaxed) == UInt8(truncatingIfNeeded: 8007))
    #expect(mutex.count.withLock { $0 } == 8000)
  }

  private final class Guarded: Sendable { let count = Mutex(0) }

  @Test func aMutex_releasesItsValue() {
    weak var value: Guarded?
    do {
      let owned = Guarded()
      value = owned
      let mutex = Mutex<Guarded?>(owned)
      #expect(mutex.withLock { $0 === owned })
      #expect(throws: CancellationError.self) {
        try mutex.withLock { _ in throw CancellationError() }
      }
      // No longer locked.
      #expect(mutex.withLock { $0 != nil })
    }
    #expect(value == nil)
  }
}
