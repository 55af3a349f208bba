import Exploration
import Pledge
import VirtualPlatform

/// One small program whose schedules are explored.
struct Program: Sendable {
  let name: String
  /// How many reports of unhandled rejections a run must end with.
  var reports = 0...0
  /// What the one finding must say, if the program is there to be found fault with.
  var mustFind: String?
  let make: @Sendable () -> Scenario
}

struct Failed: Error {}

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
    case PromiseError.returnedItself: "circle"
    case is Failed: "error"
    case is AggregateError: "errors"
    default: "\(error)"
    }
  }
}

extension Promise {
  /// Notes the outcome of this promise, as "`name` outcome", and counts the handler as long as it
  /// lives.
  func note(_ name: String, on executor: some PromiseExecutor = .immediate, in notes: Notes) {
    let token = Token()
    observe(on: executor) { result in
      withExtendedLifetime(token) {}
      notes.add("\(name) \(describe(result))")
    }
  }

  /// As `note`, for a watcher.
  func noteWatching(_ name: String, in notes: Notes) {
    let token = Token()
    watch(on: .immediate) { result in
      withExtendedLifetime(token) {}
      notes.add("\(name) \(describe(result))")
    }
  }

  /// The outcome as it can be seen now.
  var state: String { describe(currentResult) }

  /// A promise whose handler is counted as long as it lives.
  func counted() -> Promise {
    let token = Token()
    return map(on: .immediate) { value in
      withExtendedLifetime(token) {}
      return value
    }
  }
}

/// Queues that are the same ones in each run, so that what depends on their addresses is the same.
enum Queues {
  static let a = DispatchQueue(label: "a")
  static let b = DispatchQueue(label: "b")
  static let wide = DispatchQueue(label: "wide", attributes: .concurrent)
}

/// The first of the sentences whose condition does not hold.
func expect(_ conditions: (Bool, String)...) -> String? {
  conditions.first { !$0.0 }?.1
}

extension Notes {
  /// Whether each of `names` was heard exactly once and nothing else was.
  func hasEachOnce(_ names: String...) -> Bool {
    lines.count == names.count && names.allSatisfy { heard(by: $0).count == 1 }
  }

  /// Whether all observers of `promise` named here heard, once each, what the promise says now.
  func agree(_ names: [String], with promise: String) -> Bool {
    names.allSatisfy { heard(by: $0) == [promise] }
  }

  var text: String { lines.joined(separator: ", ") }

  /// The first words of all lines, in order.
  var order: [String] { lines.map { String($0.prefix { $0 != " " }) } }
}
