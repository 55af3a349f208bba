import Testing

@testable import StressKit

extension StressTests {
  @Suite struct SoakTests {
    @Test func shortSoak_findsNothing_andCounts() async {
      let summary = await aside { Soak(seconds: 1, threads: 2, seed: 1).run { _ in } }
      #expect(summary.failure == nil)
      #expect(summary.programs.count == 3)
      #expect(summary.operations > 0)
      #expect(summary.collisions > 0)
      #expect(summary.residentBytes.allSatisfy { $0 > 1 << 20 })
    }

    @Test func memoryThatGrows_isNotFlat() throws {
      let mebibyte = 1 << 20
      let growing = (0..<90).map { 50 * mebibyte + $0 * mebibyte }
      #expect(try #require(Memory.growth(growing)).isFlat == false)
      // Warm-up and single peaks do not count.
      let flat = (0..<90).map { index in
        (index < 20 ? index : index == 60 ? 90 : 50 + index % 2) * mebibyte
      }
      #expect(try #require(Memory.growth(flat)).isFlat)
      #expect(Memory.growth([1, 2, 3]) == nil)
    }
  }
}
