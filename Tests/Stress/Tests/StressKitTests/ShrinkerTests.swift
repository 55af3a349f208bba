import Testing

@testable import StressKit

extension StressTests {
  @Suite struct ShrinkerTests {
    @Test func keepsOnlyWhatTheFaultNeeds() {
      let big = Generator.program(.sequential, seed: 12)
      let program = Program(
        kind: .sequential,
        steps: big.steps + [
          Step(101, .pending),
          Step(
            102,
            .then(
              101, .second, Body(.promise(101), [Step(103, .pending), Step(104, .cancel(101))]))),
        ])
      let smallest = Shrinker { candidate in
        candidate.allSteps.contains { $0.id == 104 }
      }.smallest(program)
      #expect(
        smallest.steps == [
          Step(102, .then(101, .immediate, Body(.value, [Step(104, .cancel(101))])))
        ])
    }

    @Test func takesThreadsInputsAndRoundsApart() {
      let program = Program(
        kind: .chaotic,
        steps: [
          Step(1, .pending),
          Step(
            2,
            .parallel([
              [Step(3, .gather(.race, [1, 1, 1])), Step(4, .cancel(1))],
              [Step(5, .reduce(1, .first, count: 3, Body(.throwing))), Step(6, .onCancel(1, []))],
            ])),
        ])
      let smallest = Shrinker { candidate in
        let ids = candidate.allSteps.map(\.id)
        return ids.contains(3) && ids.contains(5)
      }.smallest(program)
      #expect(
        smallest.steps == [
          Step(
            2,
            .parallel([
              [Step(3, .gather(.race, [1]))],
              [Step(5, .reduce(1, .immediate, count: 1, Body(.value)))],
            ]))
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
