import Foundation
import Testing

@testable import StressKit

extension StressTests {
  @Suite struct SoakTests {
    @Test func shortSoak_findsNothing_andCounts() async {
      let summary = await aside { Soak(seconds: 1, threads: 2, seed: 1).run { _ in } }
      #expect(summary.failure == nil)
      #expect(summary.programs.count == 2)
      #expect(summary.operations > 0)
      #expect(summary.heapBytes.count == 30)
    }

    @Test func heapThatGrows_isAFailure() async {
      let failure = await aside { () -> String? in
        let soak = Soak(seconds: 1, threads: 1, seed: 1)
        let isDone = Lock(false)
        let isFreed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          var kept: [[UInt8]] = []
          while !isDone.withLock({ $0 }) {
            kept.append(Array(repeating: 1, count: 16 << 10))
            Thread.sleep(forTimeInterval: 0.001)
          }
          kept = []
          isFreed.signal()
        }
        defer { isFreed.wait() }
        let summary = soak.run { _ in }
        isDone.withLock { $0 = true }
        return summary.failure
      }
      #expect(failure?.hasPrefix("The heap in use grew from ") == true)
    }

    @Test func heapBytes_areThoseInUse() {
      let size = 16 << 20
      let before = Memory.heapBytes()
      let blocks = (0..<1024).map { _ in
        UnsafeMutableRawPointer.allocate(byteCount: size / 1024, alignment: 8)
      }
      let during = Memory.heapBytes()
      for block in blocks { block.deallocate() }
      let after = Memory.heapBytes()
      // Objects of other tests can be released in the meantime, but they are few.
      #expect(during - before > size / 2)
      #expect(after - before < size / 2)
    }

    @Test func growth_isThatAfterTheWarmUp() throws {
      let growing = try #require(Memory.growth((0..<90).map { $0 * 100 }))
      #expect(growing.from == 3000)
      #expect(growing.to == 7500)
      // Warm-up and single peaks do not count.
      let flat = (0..<90).map { index in index < 20 ? index : index == 85 ? 900 : 50 + index % 2 }
      #expect(abs(try #require(Memory.growth(flat)).bytes) <= 1)
      #expect(Memory.growth([1, 2, 3]) == nil)
    }

    @Test func growth_isNotWhatGoesUpAndDown() throws {
      // Rising load: more samples are high, and the lowest ones stay.
      let loaded = (0..<30).map { index in index % 3 == 0 ? 150 : 150 + index * 40 }
      #expect(try #require(Memory.growth(loaded)).bytes == 0)
      let leaking = loaded.enumerated().map { $1 + $0 * 10 }
      #expect(try #require(Memory.growth(leaking)).bytes > 100)
    }
  }
}
