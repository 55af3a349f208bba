import Pledge
import Testing

@testable import StressKit

/// The comparison itself, which must detect planted faults.
extension StressTests {
  @Suite struct ComparisonTests {
    private static let seeds: Range<UInt64> = 0..<400

    @Test(arguments: Program.Kind.allCases)
    func pledgeAgreesWithTheReference(kind: Program.Kind) async {
      let different = await aside {
        Self.seeds.filter { seed in
          let program = Generator.program(kind, seed: seed)
          return !Comparison().verdict(on: program, run: Int(seed)).complaints.isEmpty
        }
      }
      #expect(different.isEmpty)
    }

    private func expectAgreement(on steps: [Step]) async {
      let program = Program(kind: .sequential, steps: steps)
      let complaints = await aside { Comparison().verdict(on: program, run: 1).complaints }
      #expect(complaints.isEmpty)
    }

    /// Work that was cancelled has left the promise that it followed, which then has one consumer:
    /// the cancellation of that one reaches the promise, and waits for its handler.
    @Test func cancelledWork_isNotAConsumerOfWhatItFollowed() async {
      await expectAgreement(on: [
        Step(1, .pending), Step(4, .finally(1, .first, Body(.value))),
        Step(5, .coalesced(key: 0, Body(.promise(4)))), Step(6, .cancel(5)),
        Step(8, .finally(4, .immediate, Body(.value))), Step(9, .cancel(8)),
      ])
    }

    /// A promise that a cancelled handler returned is cancelled, but can be adopted: the cancellation of
    /// what adopts it waits for its handler.
    @Test func promiseThatACancelledHandlerReturned_isAwaitedByLaterConsumers() async {
      await expectAgreement(on: [
        Step(1, .pending), Step(2, .pending), Step(3, .finally(2, .second, Body(.value))),
        Step(4, .recover(2, .immediate, Body(.promise(3)))), Step(5, .cancel(4)),
        Step(6, .fulfill(1)), Step(7, .then(1, .immediate, Body(.promise(3)))), Step(8, .cancel(7)),
      ])
    }

    @Test(arguments: Fault.allCases.filter { $0 != .none })
    func brokenReference_isNoticed(fault: Fault) async throws {
      let (program, right) = await aside { () -> (Program?, [String]) in
        let program = Self.seeds.lazy.map { Generator.program(.sequential, seed: $0) }.first {
          !Comparison(fault: fault).verdict(on: $0, run: 1).complaints.isEmpty
        }
        return (program, program.map { Comparison().verdict(on: $0, run: 2).complaints } ?? [])
      }
      #expect(program != nil)
      #expect(right.isEmpty)
    }

    @Test func reportThatComesTooLate_isNotKept() async {
      let run = Reports.runs - 1
      let counts = await aside { () -> [Int] in
        func reportsWithOneMore() -> Int {
          let line = Reports.line(run: run, id: 1)
          _ = Pledge.Promise<Int>.withResolvers(fileID: #fileID, line: line).promise
          return Reports.count(run)
        }
        let comparison = Comparison()
        Reports.open(run)
        let during = reportsWithOneMore()
        let verdict = comparison.verdict(on: Generator.program(.sequential, seed: 0), run: run)
        return [during, verdict.complaints.count, reportsWithOneMore()]
      }
      // Nor are they attributed to a later program with the same number.
      #expect(counts == [1, 0, 0])
    }

    @Test func reportOfAnyOtherPromise_isNotKept() async {
      let count = await aside { () -> Int in
        _ = Comparison()
        Reports.open(0)
        defer { _ = Reports.close(0) }
        _ = Pledge.Promise<Int>.withResolvers().promise
        return Reports.count(0)
      }
      #expect(count == 0)
    }

    @Test func programs_useEverything() {
      let programs = Program.Kind.allCases.flatMap { kind in
        Self.seeds.map { Generator.program(kind, seed: $0) }
      }
      let names = programs.flatMap(\.allSteps).map { "\($0.operation)".prefix { $0 != "(" } }
      let all: Set<Substring> = [
        "pending", "value", "rejected", "map", "then", "recover", "catch", "finally", "reduce",
        "adopt", "gather", "timeout", "limited", "coalesced", "uncancellable", "fulfill", "reject",
        "resolve", "onCancel", "cancel", "dropPromise", "dropResolver", "abandon", "runNext",
        "runAll", "advance", "parallel",
      ]
      #expect(Set(names) == all)
    }

    @Test func invariants_noticeWhatCannotBe() {
      let program = Program(
        kind: .chaotic,
        steps: [Step(1, .pending), Step(2, .map(1, .immediate, Body())), Step(3, .onCancel(1, []))])
      let ran = Event(id: 2, kind: .ran(.value(5)))
      let outcomes = [2: Outcome.value(handlerValue(2, .value(5)))]
      let right = Trace(events: [ran], outcomesAtEnd: outcomes, finalOutcomes: outcomes)
      func violations(_ change: (inout Trace) -> Void) -> [String] {
        var trace = right
        change(&trace)
        return Invariants(program, trace).violations
      }
      #expect(violations { _ in }.isEmpty)
      #expect(violations { $0.events.append(ran) } == ["the handler of step 2 ran 2 times"])
      #expect(violations { $0.finalOutcomes[2] = .pending }.contains("p2 never settled"))
      let twice = Array(repeating: Event(id: 9, kind: .settled(resolver: 1, true)), count: 2)
      #expect(violations { $0.events = twice }.contains("r1 settled 2 times"))
      #expect(
        violations { $0.unhandled = [.thrown(2): 2] }
          == ["the error of step 2 was reported 2 times"])
      #expect(violations { $0.leaks = "1 × handler" } == ["1 × handler"])
      #expect(
        violations { $0.misplaced = [2] }
          == ["the handler of step 2 ran elsewhere than on its executor"])
      #expect(violations { $0.outcomesAtEnd[2] = .failed(.cancelled) }.count == 1)
    }
  }
}
