import Exploration
import Pledge
import VirtualPlatform

/// One small program whose schedules are explored.
struct Program: Sendable {
  let name: String
  /// The number of unhandled rejections that a run must report.
  let reports: ClosedRange<Int>
  /// A text that the only finding must contain, if the program is wrong on purpose.
  let mustFind: String?
  /// Makes the scenario of a run, whose handlers record their results in the notes.
  let make: @Sendable (Notes) -> Scenario

  init(
    _ name: String, reports: ClosedRange<Int> = 0...0, mustFind: String? = nil,
    make: @escaping @Sendable (Notes) -> Scenario
  ) { (self.name, self.reports, self.mustFind, self.make) = (name, reports, mustFind, make) }
}

struct Failed: Error {}

actor Place {}

func describe<Value>(_ result: Result<Value, any Error>?) -> String {
  switch result {
  case nil: "pending"
  case .success: "value"
  case .failure(let error):
    switch error {
    case is CancellationError: "cancelled"
    case is BrokenPromiseError: "broken"
    case is TimeoutError: "late"
    case is DeadlockError: "deadlock"
    case PromiseError.returnedItself: "cycle"
    case is Failed: "error"
    case is AggregateError: "errors"
    default: "\(error)"
    }
  }
}

extension Promise {
  /// Records the result of this promise, as "`name` result", and counts the handler while it is
  /// alive.
  func note(_ name: String, on executor: some PromiseExecutor = .immediate, in notes: Notes) {
    let token = Token()
    observe(on: executor) { result in
      withExtendedLifetime(token) {}
      notes.add("\(name) \(describe(result))")
    }
  }

  /// Records the result as `note` does, with a watcher.
  func noteWatching(_ name: String, in notes: Notes) {
    let token = Token()
    watch(on: .immediate) { result in
      withExtendedLifetime(token) {}
      notes.add("\(name) \(describe(result))")
    }
  }

  /// The current result, as text.
  var state: String { describe(currentResult) }

  /// Returns a promise whose handler is counted while it is alive.
  func counted() -> Promise {
    let token = Token()
    return map(on: .immediate) { value in
      withExtendedLifetime(token) {}
      return value
    }
  }
}

/// Queues that are the same in each run, so that behavior that depends on their addresses is
/// repeatable.
enum Queues {
  static let a = DispatchQueue(label: "a")
  static let b = DispatchQueue(label: "b")
  static let wide = DispatchQueue(label: "wide", attributes: .concurrent)
}

/// A condition of a check, and a text for the case that it is false.
typealias Condition = (Bool, String)

/// Returns the first text whose condition is false.
func expect(_ conditions: Condition...) -> String? { conditions.first { !$0.0 }?.1 }

extension Promise {
  /// Whether its state is one of `states`.
  func isOne(of states: String...) -> Condition {
    (states.contains(state), "a promise is \(state), not \(states.joined(separator: " or "))")
  }
}

extension Notes {
  /// Whether each of `names` was recorded exactly once, and nothing else.
  func hasEachOnce(_ names: String...) -> Condition {
    (
      lines.count == names.count && names.allSatisfy { heard(by: $0).count == 1 },
      "not each heard once: \(text)"
    )
  }

  /// Whether all of `names` recorded the current result of `promise`, once each.
  func agree(_ names: [String], with promise: String) -> Condition {
    (names.allSatisfy { heard(by: $0) == [promise] }, "\(promise), but heard: \(text)")
  }

  /// Whether `name` recorded one of `states`, and nothing else.
  func hears(_ name: String, _ states: String...) -> Condition {
    (states.contains { heard(by: name) == [$0] }, "heard: \(text)")
  }

  /// Whether those of `names` recorded their results in this order.
  func areInOrder(_ names: String...) -> Condition {
    (order.filter(names.contains) == names, "out of order: \(text)")
  }

  var text: String { lines.joined(separator: ", ") }

  /// The first word of each line, in order.
  var order: [String] { lines.map { String($0.prefix { $0 != " " }) } }
}
