/// The properties that hold for every program, in every order of its threads.
struct Invariants {
  let violations: [String]

  init(_ program: Program, _ trace: Trace) {
    let steps = Dictionary(program.allSteps.map { ($0.id, $0) }) { first, _ in first }
    var list: [String] = []
    // Handlers and cancellation callbacks run at most once.
    var runs: [Int: Int] = [:]
    var wins: [Int: Int] = [:]
    var inputs: [Int: Outcome] = [:]
    for event in trace.events {
      switch event.kind {
      case .ran(let input):
        runs[event.id, default: 0] += 1
        inputs[event.id] = input
      case .toldToStop: runs[event.id, default: 0] += 1
      case .settled(let resolver, let won): if won { wins[resolver, default: 0] += 1 }
      }
    }
    for (id, count) in runs where count > steps[id]?.mostRuns ?? 0 {
      list.append("the handler of step \(id) ran \(count) times")
    }
    for (id, count) in wins where count > 1 { list.append("r\(id) settled \(count) times") }

    for (id, outcome) in trace.finalOutcomes {
      if outcome == .pending, !program.abandons { list.append("p\(id) never settled") }
      // A value is the one that the handler returned.
      if case .value(let value) = outcome, case .map(_, _, let body) = steps[id]?.operation {
        let right = handlerValue(id, inputs[id])
        if inputs[id] == nil || body.result == .throwing || value != right {
          list.append("p\(id) has the value \(value), its handler returned \(right)")
        }
      }
    }
    // A settled promise keeps its result.
    for (id, early) in trace.outcomesAtEnd where early != .pending {
      if let late = trace.finalOutcomes[id], late != early {
        list.append("p\(id) changed from \(early) to \(late)")
      }
    }
    // Only these errors have a single origin.
    for case (.thrown(let id), let count) in trace.unhandled where count > steps[id]?.mostRuns ?? 0
    { list.append("the error of step \(id) was reported \(count) times") }
    list += trace.misplaced.map { "the handler of step \($0) ran elsewhere than on its executor" }
    if let leaks = trace.leaks { list.append(leaks) }
    violations = list.sorted()
  }
}

extension Step {
  fileprivate var mostRuns: Int {
    if case .reduce(_, _, let count, _) = operation { count } else { 1 }
  }
}
