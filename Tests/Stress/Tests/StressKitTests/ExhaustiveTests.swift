import Dispatch
import Testing

@testable import StressKit

extension StressTests {
  /// All programs of four acts on three promises, compared with the reference.
  @Suite struct ExhaustiveTests {
    /// Promises 1 and 2 have resolvers, and promise 3 is `1.then { 2 }`.
    private static let beginning = [
      Step(1, .pending), Step(2, .pending), Step(3, .then(1, .immediate, Body(.promise(2)))),
      Step(4, .onCancel(1, [])), Step(5, .onCancel(2, [])),
    ]

    /// The acts; nil cancels the promise that was created last.
    private static let acts: [StressKit.Operation?] =
      [1, 2].flatMap { [.fulfill($0), .reject($0), .dropResolver($0)] }
      + [1, 2, 3].flatMap { [.cancel($0), .finally($0, .immediate, Body())] } + [
        .recover(1, .immediate, Body()), .then(1, .immediate, Body(.promise(2))),
        .then(2, .immediate, Body(.promise(3))), nil,
      ]

    private static func program(_ number: Int) -> Program {
      var (steps, rest, last) = (beginning, number, 3)
      for id in 6..<10 {
        let (quotient, index) = rest.quotientAndRemainder(dividingBy: acts.count)
        steps.append(Step(id, acts[index] ?? .cancel(last)))
        if acts[index]?.source != nil { last = id }
        rest = quotient
      }
      return Program(kind: .sequential, steps: steps)
    }

    @Test func everySequenceOfFourActs_agreesWithTheReference() async {
      let count = Self.acts.count * Self.acts.count * Self.acts.count * Self.acts.count
      let different = await aside {
        let different = Lock<[Program]>([])
        DispatchQueue.concurrentPerform(iterations: count) { number in
          let program = Self.program(number)
          if !Comparison().verdict(on: program, run: number).complaints.isEmpty {
            different.withLock { $0.append(program) }
          }
        }
        return different.withLock { $0 }
      }
      #expect(different.isEmpty, "\(different.count) of \(count), such as \(different.prefix(3))")
    }
  }
}
