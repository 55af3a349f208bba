import Testing

@testable import StressKit

extension StressTests {
  @Suite struct ShrinkerTests {
    @Test func onlyTheStepsThatTheFaultNeeds_remain() {
      let handler = Body(.value, [Step(3, .pending), Step(4, .cancel(1))])
      let program = Program(
        kind: .chaotic,
        steps: [
          Step(1, .pending), Step(2, .then(1, .second, handler)),
          Step(5, .onCancel(1, [Step(6, .cancel(1)), Step(7, .pending)])),
          Step(8, .parallel([[Step(9, .cancel(1))], [Step(10, .fulfill(1))]])),
        ])
      let smallest = Shrinker { candidate in
        Set(candidate.allSteps.map(\.id)).isSuperset(of: [4, 6, 10])
      }.smallest(program)
      #expect(
        smallest.steps == [
          Step(2, .then(1, .second, Body(.value, [Step(4, .cancel(1))]))),
          Step(5, .onCancel(1, [Step(6, .cancel(1))])),
          Step(8, .parallel([[], [Step(10, .fulfill(1))]])),
        ])
    }

    @Test func aRealDifference_becomesAFewLines() async {
      let (smallest, stillFails) = await aside { () -> (Program?, Bool) in
        let comparison = Comparison(fault: .wrongOrder)
        func fails(_ program: Program) -> Bool {
          !comparison.verdict(on: program, run: 1).complaints.isEmpty
        }
        let programs = (0..<400).lazy.map { Generator.program(.sequential, seed: $0) }
        guard let first = programs.first(where: fails) else { return (nil, false) }
        let smallest = Shrinker(fails: fails).smallest(first)
        return (smallest, fails(smallest))
      }
      #expect(stillFails)
      // A promise, two observers, and the steps that reveal their order.
      #expect((smallest?.allSteps.count ?? .max) <= 5)
    }
  }
}
