import Testing

@testable import StressKit

extension StressTests {
  @Suite struct GeneratorTests {
    @Test func sameSeed_makesTheSameProgram() {
      for kind in Program.Kind.allCases {
        #expect(Generator.program(kind, seed: 3) == Generator.program(kind, seed: 3))
        #expect(Generator.program(kind, seed: 3) != Generator.program(kind, seed: 4))
      }
    }

    @Test func chaoticWork_waitsOnlyForPromisesThatNoneFollows() {
      var waiting = 0
      for seed in UInt64(0)..<5_000 {
        let steps = Generator.program(.chaotic, seed: seed).allSteps
        for step in steps where step.operation.isShared {
          guard case .promise(let awaited)? = step.operation.body?.result else { continue }
          waiting += 1
          #expect(steps.contains { $0.id == awaited && $0.operation == .pending })
          #expect(!steps.contains { $0.operation.follower == awaited })
        }
      }
      #expect(waiting > 100)
    }
  }
}

extension StressKit.Operation {
  /// Whether this is an operation of a limiter or a coalescer, neither of which has a place.
  fileprivate var isShared: Bool { body != nil && place == nil }
}
