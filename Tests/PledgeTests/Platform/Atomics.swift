@_spi(DropIns) @testable import Pledge

@Suite struct AtomicsTests {
  private final class Words: Sendable {
    let word = Atomic<UInt64>(7)
    let int = Atomic(7)
    let flag = Atomic(false)
  }

  private let words = Words()

  @Test func eachWord_hasItsOwnPlace() {
    words.word.store(3, ordering: .releasing)
    words.int.store(-4, ordering: .relaxed)
    words.flag.store(true, ordering: .releasing)
    #expect(words.word.load(ordering: .acquiring) == 3)
    #expect(words.int.load(ordering: .relaxed) == -4)
    let flag = words.flag.load(ordering: .acquiring)
    #expect(flag)
  }

  @Test func updates_returnTheOldValue() {
    #expect(words.int.wrappingAdd(3, ordering: .relaxed) == 7)
    #expect(words.int.wrappingSubtract(11, ordering: .acquiring) == 10)
    #expect(words.int.load(ordering: .relaxed) == -1)
    #expect(words.word.wrappingAdd(.max, ordering: .acquiringAndReleasing) == 7)
    #expect(words.word.bitwiseOr(8, ordering: .relaxed) == 6)
    #expect(words.word.exchange(.max, ordering: .acquiring) == 14)
    let flag = words.flag.exchange(true, ordering: .acquiringAndReleasing)
    #expect(!flag)
  }

  @Test func compareExchange_exchangesTheExpectedValueOnly() {
    #expect(words.int.compareExchange(expected: 8, desired: 1, ordering: .relaxed) == (false, 7))
    #expect(words.int.compareExchange(expected: 7, desired: 1, ordering: .acquiring) == (true, 7))
    #expect(words.int.load(ordering: .relaxed) == 1)
  }

  @Test func manyThreads_countEachOfTheirSteps() {
    let mutex = Guarded()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<1000 {
        words.int.wrappingAdd(1, ordering: .relaxed)
        mutex.count.withLock { $0 += 1 }
      }
    }
    #expect(words.int.load(ordering: .relaxed) == 8007)
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
