/// Runs programs on Pledge and on the reference, and says where they differ.
package struct Comparison: Sendable {
  /// The result of one program.
  package struct Verdict: Sendable {
    /// How Pledge differs from what is right; empty if it does not.
    package var complaints: [String] = []
    /// How many steps and handlers ran.
    package var operationCount = 0
    /// Whether all of it was compared, and not just what holds for any order.
    package var isExact = false
  }

  let fault: Fault

  /// Makes a comparison with the reference as it should be.
  package init() { self.init(fault: .none) }

  init(fault: Fault) {
    self.fault = fault
    Reports.install()
  }

  /// Compares the two on `program`; no two programs that run at a time may have the same `run`.
  package func verdict(on program: Program, run: Int) -> Verdict {
    let run = run % Reports.runs
    Reports.open(run)
    let reference = ReferenceSystem(run: run, kind: program.kind, fault: fault)
    let expected =
      program.kind == .chaotic
      ? nil
      : Run(run: run, kind: program.kind, abandoned: nil, on: reference).trace(of: program)
    var abandoned: Set<Int>? = []
    if program.abandons {
      abandoned = expected.map { expected in
        Set(expected.finalOutcomes.filter { $0.value == .pending }.keys)
      }
    }

    var found: Trace
    do {
      let tested = Run(
        run: run, kind: program.kind, abandoned: abandoned,
        on: PledgeSystem(run: run, kind: program.kind))
      found = tested.trace(of: program)
      // Tasks and queues may hold handlers for a moment longer.
      _ = Patience.isDoneInTime(limit: 5) { tested.lifetimes.liveCount == 0 }
      found.leakCount = tested.lifetimes.liveCount
    }
    var verdict = Verdict(operationCount: found.operationCount)
    verdict.isExact = expected != nil
    if verdict.isExact, let expected {
      let unhandled = reference.world.unhandled.filter(\.leadsToItsRun)
      _ = Patience.isDoneInTime(limit: 2) { Reports.count(run) >= unhandled.count }
      found.unhandled = Reports.close(run).counted
      var expected = expected
      expected.unhandled = unhandled.counted
      verdict.complaints =
        program.kind == .sequential
        ? Self.differences(found, expected) : Self.unorderedDifferences(found, expected)
    } else {
      found.unhandled = Reports.close(run).counted
    }
    verdict.complaints += Invariants(program, found).violations
    return verdict
  }

  // MARK: What differs

  private static func differences(_ found: Trace, _ expected: Trace) -> [String] {
    var list: [String] = []
    if let index = (0..<max(found.events.count, expected.events.count)).first(where: {
      found.events.at($0) != expected.events.at($0)
    }) {
      list.append(
        "event \(index): found \(text(found.events.at(index))), "
          + "expected \(text(expected.events.at(index)))")
    }
    list += differences("at the end", found.outcomesAtEnd, expected.outcomesAtEnd)
    return list + sharedDifferences(found, expected)
  }

  private static func unorderedDifferences(_ found: Trace, _ expected: Trace) -> [String] {
    let (some, others) = (found.events.counted, expected.events.counted)
    let wrong = Set(some.keys).union(others.keys).filter { some[$0] != others[$0] }
    let list = wrong.sorted { $0.id < $1.id }.map { event in
      "\(text(event)): found \(some[event] ?? 0) times, expected \(others[event] ?? 0) times"
    }
    return list + sharedDifferences(found, expected)
  }

  private static func sharedDifferences(_ found: Trace, _ expected: Trace) -> [String] {
    var list = differences("when all was dropped", found.finalOutcomes, expected.finalOutcomes)
    if found.unhandled != expected.unhandled {
      list.append("unhandled: found \(found.unhandled), expected \(expected.unhandled)")
    }
    return list
  }

  private static func differences(
    _ when: String, _ found: [Int: Outcome], _ expected: [Int: Outcome]
  ) -> [String] {
    Set(found.keys).union(expected.keys).sorted().filter { found[$0] != expected[$0] }.map { id in
      "p\(id) \(when): found \(text(found[id])), expected \(text(expected[id]))"
    }
  }

  private static func text<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "none" }
}

extension Array {
  fileprivate func at(_ index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}

extension Array where Element: Hashable {
  /// How often each element occurs.
  var counted: [Element: Int] { reduce(into: [:]) { $0[$1, default: 0] += 1 } }
}
