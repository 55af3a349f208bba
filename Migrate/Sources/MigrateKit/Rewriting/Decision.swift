/// A question that a conversion to `async` raises, and that the source doesn't answer.
public enum Decision: String, Sendable, CaseIterable {
  case executor
  case earlyReturn = "early-return"
  case names
  case capture
  case ensureInside = "ensure-inside"
  case recoverInside = "recover-inside"
  case operatorUnknown = "operator"
  case optional
  case stored
  case passed
  case blocking
  case library
  case conditional
  case type
  case macro
  case unproved

  /// Whether code that needs this decision gets no comment either: its text can matter, or exist in
  /// alternatives.
  var leavesCodeUntouched: Bool { self == .conditional || self == .macro }

  /// Whether it helps to know which operator needs the decision.
  var isAboutOperator: Bool {
    [.earlyReturn, .ensureInside, .recoverInside, .operatorUnknown].contains(self)
  }

  /// What has to be decided.
  public var question: String {
    switch self {
    case .executor:
      "Handlers run on queues on which one task can't run. Decide where this work runs in async code."
    case .earlyReturn:
      "A handler returns early. Decide which of the later handlers run then; a `finally` does, as a `defer`."
    case .names: "Handlers declare the same name, or one that later code uses. Rename one first."
    case .capture: "Handlers capture different things weakly. Decide what the task keeps alive."
    case .ensureInside:
      "Cleanup in the middle of a chain covers the steps before it: put these into a `do` with a `defer`."
    case .recoverInside:
      "Error handling in the middle of a chain covers the steps before it: put these into a `do`."
    case .operatorUnknown: "An operator without an exact counterpart. Decide how to express it."
    case .optional:
      "The chain is on an optional, and without a value nothing happens. Unwrap it first."
    case .stored:
      "The promise is stored. Decide which code shares it: a promise can stay, or a task."
    case .passed: "The promise is passed on. Convert the function that receives it first."
    case .blocking: "The thread is blocked. Make the caller `async` first."
    case .library:
      "Pledge has no bridge that settles in the same order, and two libraries need an index."
    case .conditional: "The code has alternatives in `#if`. Convert each of them by hand."
    case .type: "The promise gets its type from the operator after it. Write the type first."
    case .unproved:
      "The check can't prove that a conversion changes nothing. Convert by hand, and check it."
    case .macro: "The chain is inside the arguments of a macro. Convert by hand."
    }
  }
}
