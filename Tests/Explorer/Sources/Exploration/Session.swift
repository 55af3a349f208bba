import CExplorer
import Glibc

/// One run: closures that run concurrently, and a check for the state after it.
package struct Scenario {
  var workers: Int
  var bodies: [() -> Void]
  var check: () -> String?

  /// Creates a scenario; `check` returns what is wrong, or nil.
  ///
  /// The check runs when all bodies, blocks, and timers have ended. Tasks and the blocks of
  /// concurrent queues run on `workers` threads; each body, serial queue, and timer has its own.
  package init(workers: Int = .max, _ bodies: [() -> Void], check: @escaping () -> String?) {
    (self.workers, self.bodies, self.check) = (workers, bodies, check)
  }
}

/// A failure, and the shortest schedule that shows it.
package struct Finding: Sendable {
  package var message: String
  package var schedule: String
  /// The number of runs in which it was seen.
  package var count: Int
  /// Whether an earlier run was abandoned, with the objects that its threads hold, which may be the
  /// cause.
  package var isSuspect = false
  fileprivate var parts: Int
}

package struct Outcome: Sendable {
  package var name: String
  package var strategy: String
  package var schedules = 0
  package var seconds = 0.0
  package var longest = 0
  /// Whether no schedules are left for the search to try.
  package var isComplete = false
  package var findings: [Finding] = []
}

package struct Budget: Sendable {
  package var schedules = Int.max
  package var seconds = Double.infinity
  package var steps = 20_000
  /// The number of runs that may fail before the search ends.
  package var failures = 200
  package var stopsAtFirstFinding = false
  package var hasStaleLoads = false
  package var traces = false
  package var reversesOrder = false

  package init() {}
}

package enum Session {
  nonisolated(unsafe) private static var title = ""
  nonisolated(unsafe) private static var scheduleNumber = 0
  nonisolated(unsafe) private static var abandonedRuns = 0
  nonisolated(unsafe) private static var hasJustAbandoned = false

  /// Runs the scenarios that `make` creates until all schedules are done or the budget is spent.
  ///
  /// `afterwards` returns what is wrong, or nil, when all objects of a run have been released.
  package static func explore(
    _ name: String, _ search: Search, _ budget: Budget, make: () -> Scenario,
    afterwards: () -> String?
  ) -> Outcome {
    title = name
    Scheduler.stepLimit = budget.steps
    Scheduler.hasStaleLoads = budget.hasStaleLoads
    Explorer.reversesOrder = budget.reversesOrder
    explorer_at_death { if Scheduler.isRunning { Session.reportDeath("died") } }
    // Objects that are created on first use are created here, in several orders, where no thread is
    // interrupted in the middle.
    let warmUp = Random(seed: 1, stay: 1 << 60)
    var (strategy, restarts, failures) = (search.strategy, 0, 0)
    var outcome = Outcome(name: name, strategy: strategy.name)
    let start = now()
    scheduleNumber = 1
    for number in 1...12 {
      if let message = run(make, warmUp, afterwards), abandonedRuns > 0 {
        // The effects of such a run would hide the fault from the search.
        outcome.schedules = number
        note(message, in: &outcome)
        return outcome
      }
    }
    while true {
      outcome.schedules += 1
      scheduleNumber = outcome.schedules
      let message = run(make, strategy, afterwards)
      outcome.longest = max(outcome.longest, Scheduler.stepCount)
      if budget.traces { for line in Schedule.trace() { print(line) } }
      if strategy.mismatch != nil, restarts < 3, abandonedRuns == 0 {
        // An object was created on first use nevertheless.
        restarts += 1
        if budget.traces { print("restart: \(strategy.mismatch ?? "")") }
        strategy = search.strategy
        continue
      }
      if strategy.mismatch != nil, abandonedRuns > 0 { break }
      if let message {
        failures += 1
        note(message, in: &outcome)
        if strategy.mismatch != nil { break }
        if budget.stopsAtFirstFinding || failures >= budget.failures { break }
      }
      if !strategy.advance() {
        outcome.isComplete = true
        break
      }
      if outcome.schedules >= budget.schedules { break }
      if outcome.schedules & 63 == 0, now() - start > budget.seconds { break }
    }
    outcome.seconds = now() - start
    return outcome
  }

  private static func run(
    _ make: () -> Scenario, _ strategy: any Strategy, _ afterwards: () -> String?
  ) -> String? {
    Scheduler.reset()
    Token.beginRun()
    hasJustAbandoned = false
    let message: String?
    do {
      var scenario = make()
      Scheduler.workers = scenario.workers
      for body in scenario.bodies { Scheduler.add(.body, body) }
      scenario.bodies = []
      if let failure = Scheduler.run(strategy) {
        // Its threads never continue, and retain their objects, which can affect later runs.
        if strategy.mismatch == nil {
          abandonedRuns += 1
          hasJustAbandoned = true
        }
        _ = afterwards()
        return failure
      }
      message = scenario.check()
    }
    let late = afterwards()
    let leak = Token.count == 0 ? nil : "\(Token.count) objects were never released"
    return message ?? late ?? leak
  }

  private static func note(_ message: String, in outcome: inout Outcome) {
    let schedule = Schedule.current()
    let isSuspect = abandonedRuns > (hasJustAbandoned ? 1 : 0)
    let key = withoutNumbers(message)
    var finding = Finding(
      message: message, schedule: schedule.text, count: 1, isSuspect: isSuspect,
      parts: schedule.parts)
    guard let index = outcome.findings.firstIndex(where: { withoutNumbers($0.message) == key })
    else { return outcome.findings.append(finding) }
    let old = outcome.findings[index]
    finding.count = old.count + 1
    outcome.findings[index].count = finding.count
    // A finding that isn't suspect is better than one with a shorter schedule.
    let isBetter = old.isSuspect == isSuspect ? schedule.parts < old.parts : old.isSuspect
    if isBetter { outcome.findings[index] = finding }
  }

  private static func withoutNumbers(_ text: String) -> String { text.filter { !$0.isNumber } }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Prints what is known about a run in which the process dies.
  static func reportDeath(_ reason: String) {
    let text =
      "finding: \(title): \(reason)\n  in 1 of \(scheduleNumber) schedules\n"
      + "  explore \(title) replay '\(Schedule.current().text)'\n"
    _ = text.utf8.withContiguousStorageIfAvailable { write(1, $0.baseAddress, $0.count) }
  }
}
