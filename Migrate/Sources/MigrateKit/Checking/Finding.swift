/// How serious a finding is.
public enum Severity: String, Sendable, Comparable, CaseIterable {
  case note, warning, error

  /// Compares by severity: notes come first.
  public static func < (first: Severity, second: Severity) -> Bool {
    first.rank < second.rank
  }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// A kind of difference between two versions of a program.
public enum Rule: String, Sendable, CaseIterable {
  case effectLost = "effect-lost"
  case effectRepeated = "effect-repeated"
  case effectAdded = "effect-added"
  case callReplaced = "call-replaced"
  case argumentChanged = "argument-changed"
  case conditionChanged = "condition-changed"
  case executorChanged = "executor-changed"
  case priorityChanged = "priority-changed"
  case errorSwallowed = "error-swallowed"
  case errorAdded = "error-added"
  case errorChanged = "error-changed"
  case resultChanged = "result-changed"
  case orderChanged = "order-changed"
  case becameSequential = "became-sequential"
  case becameParallel = "became-parallel"
  case waitLost = "wait-lost"
  case startsLater = "starts-later"
  case callerWaits = "caller-waits"
  case cancellation = "cancellation-handled"
  case resumedTwice = "resumed-twice"
  case neverResumed = "never-resumed"
  case crash = "crash-on-error"
  case functionLost = "function-lost"
  case undecided = "undecided"

  /// The severity of the findings of this rule.
  public var severity: Severity {
    switch self {
    case .effectLost, .effectRepeated, .callReplaced, .errorSwallowed, .resumedTwice,
      .neverResumed, .crash, .waitLost:
      .error
    case .effectAdded, .argumentChanged, .conditionChanged, .executorChanged, .priorityChanged,
      .errorAdded,
      .errorChanged, .resultChanged, .orderChanged, .becameSequential, .becameParallel:
      .warning
    case .startsLater, .callerWaits, .cancellation, .functionLost, .undecided:
      .note
    }
  }

  /// What a user of the program notices.
  public var consequence: String {
    switch self {
    case .effectLost: "Users miss this effect: an indicator keeps spinning, a screen isn't updated."
    case .effectRepeated: "Users see the effect twice: two messages, two requests, a wrong count."
    case .effectAdded: "Users see an effect that the program didn't have on this path."
    case .callReplaced: "The program does something else than before."
    case .argumentChanged: "The call does its work with other data than before."
    case .conditionChanged: "The program takes another path than before for some values."
    case .executorChanged:
      "Code that expects its thread can crash or corrupt its data, and a busy main thread stalls"
        + " the interface."
    case .priorityChanged: "The work can take longer, or delay other work."
    case .errorSwallowed: "Callers take the failure for a success: no message, no retry."
    case .errorAdded: "Callers see a failure where the call succeeded before."
    case .errorChanged: "Code that looks for the old error, and its message, don't apply anymore."
    case .resultChanged: "Callers get another value."
    case .orderChanged: "Steps that depend on each other see the wrong state."
    case .becameSequential: "The work takes as long as the sum of its parts."
    case .becameParallel: "Steps overlap that used to wait for each other."
    case .waitLost: "The code continues before the work is done, and its errors are lost."
    case .startsLater: "Code after this statement runs before the work has started."
    case .callerWaits: "The caller continues only after the work is done."
    case .cancellation:
      "A cancellation, which was ignored, shows an error message or ends the work."
    case .resumedTwice: "The program crashes when the continuation is resumed again."
    case .neverResumed: "The task waits forever."
    case .crash: "The program crashes if the call fails."
    case .functionLost: "Nothing can be said about the function's effects."
    case .undecided: "Differences on single paths can be missed here."
    }
  }
}

/// A difference between two versions of a program.
public struct Finding: Sendable {
  /// The kind of difference.
  public var rule: Rule
  /// The severity.
  public var severity: Severity
  /// The function, by its name in the old version.
  public var function: String
  /// What differs, and on which path.
  public var message: String
  /// The place in the old version, if there is one.
  public var old: Place?
  /// The place in the new version, if there is one.
  public var new: Place?
  /// The declaration of the function in the new version.
  public var declaration: Place?
  /// A name for the finding that doesn't depend on line numbers.
  public var fingerprint: String
  /// What changed for all of a file, a queue that isn't there anymore, say; nil for all else.
  var cause: String?
  /// The findings in other functions of the file that have the same cause.
  public internal(set) var others: [Finding] = []

  /// The message with its consequence.
  public var text: String {
    let count = others.count
    let more = count == 0 ? "" : " The same in \(count) more function\(count == 1 ? "" : "s")."
    return message + more + " " + rule.consequence
  }
}

extension [Finding] {
  /// The findings, with those that share their cause in a file as one.
  public var byCause: [Finding] {
    var result: [Finding] = []
    var positions: [String: Int] = [:]
    for finding in self {
      let file = (finding.new ?? finding.old)?.file.path ?? ""
      let key = finding.cause.map { "\(file)|\(finding.severity)|\($0)" }
      if let position = key.flatMap({ positions[$0] }) {
        result[position].others.append(finding)
      } else {
        if let key { positions[key] = result.count }
        result.append(finding)
      }
    }
    return result
  }
}
