import PledgeTesting

/// Runs programs on Pledge and on the reference, and reports the differences.
package struct Comparison: Sendable {
  package struct Verdict: Sendable {
    /// The differences between Pledge and the reference, and broken invariants; empty if there are
    /// none.
    package var complaints: [String] = []
    package var operationCount = 0
  }

  let fault: Fault

  /// Creates a comparison with the correct reference.
  package init() { self.init(fault: .none) }

  init(fault: Fault) {
    self.fault = fault
    Reports.install()
  }

  /// Compares Pledge with the reference on `program`.
  ///
  /// Programs that run concurrently must have different values of `run`.
  package func verdict(on program: Program, run: Int) -> Verdict {
    let run = run % Reports.runs
    Reports.open(run)
    let reference = ReferenceSystem(run: run, fault: fault)
    let expected =
      program.kind == .sequential ? Run(run: run, on: reference).trace(of: program) : nil
    var found: Trace
    do {
      let tested = Run(run: run, on: PledgeSystem(run: run, kind: program.kind))
      found = tested.trace(of: program)
      // Tasks and queues can retain handlers for a moment longer.
      _ = Patience.isDoneInTime(limit: 5) { tested.lifetimes.liveCount == 0 }
      found.leaks = tested.lifetimes.leaks
    }
    let unhandled = expected == nil ? [] : reference.world.unhandled.filter(\.leadsToItsRun)
    _ = Patience.isDoneInTime(limit: 2) { Reports.count(run) >= unhandled.count }
    found.unhandled = Reports.close(run).counted
    var verdict = Verdict(operationCount: found.operationCount)
    if var expected {
      expected.unhandled = unhandled.counted
      verdict.complaints = Self.differences(found, expected)
    }
    verdict.complaints += Invariants(program, found).violations
    return verdict
  }

  // MARK: Differences

  private static func differences(_ found: Trace, _ expected: Trace) -> [String] {
    var list: [String] = []
    for index in 0..<max(found.events.count, expected.events.count) {
      let (some, other) = (found.events.at(index), expected.events.at(index))
      guard some != other else { continue }
      list.append("event \(index): found \(text(some)), expected \(text(other))")
      break
    }
    list += differences("at the end", found.outcomesAtEnd, expected.outcomesAtEnd)
    list += differences("when all was dropped", found.finalOutcomes, expected.finalOutcomes)
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
  /// The number of occurrences of each element.
  var counted: [Element: Int] { reduce(into: [:]) { $0[$1, default: 0] += 1 } }
}

extension LifetimeTracker {
  /// A description of the objects that are alive; nil if there are none.
  fileprivate var leaks: String? {
    do {
      try expectNoneAliveNow()
      return nil
    } catch {
      return "\(error)"
    }
  }
}
