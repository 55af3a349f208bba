/// The findings of a check, with their messages.
struct FindingCollector {
  private(set) var all: [Finding] = []
  /// The names of the parameters of the function that is being compared.
  var parameters: [String] = []
  /// The place of that function.
  var declaration: Place?

  /// Adds findings for the differences that are certain, and one note for the others.
  mutating func add(_ judgment: Judgment, _ function: String, _ old: Place, _ new: Place) {
    add(judgment.certain, function, old, new)
    guard let first = judgment.undecided,
      !all.contains(where: { $0.rule == .undecided && $0.function == function })
    else { return }
    let count = judgment.undecidedCount
    let more = count > 1 ? " and in \(count - 1) more place\(count > 2 ? "s" : "")" : ""
    add(
      .undecided, "", function,
      "`\(function)` can't be followed in both versions here\(more): it may differ.",
      old: first.occurrence.old ?? old, new: first.occurrence.new ?? new)
  }

  /// Adds findings for the differences between two versions of a function.
  mutating func add(_ divergences: [Divergence], _ function: String, _ old: Place, _ new: Place) {
    var grouped: [String: [Divergence]] = [:]
    var order: [String] = []
    for item in divergences {
      // Many effects of one function that share a cause are one finding.
      let difference = item.difference
      var key: String
      switch difference.rule {
      case .executorChanged, .priorityChanged:
        key = difference.rule.rawValue + difference.detail.prefix { $0 != "|" }
      case .callReplaced:
        // One counter that counts down in place of another one that counts up.
        let words = difference.parts.map { $0.prefix(while: CaseName.isWord) }
        key = difference.rule.rawValue + words.joined(separator: ">")
      case .startsLater, .callerWaits, .waitLost, .errorAdded: key = difference.rule.rawValue
      // One thing became several, depending on something else.
      case .errorChanged: key = "\(difference.rule.rawValue)|\(difference.parts[0])"
      default: key = difference.site
      }
      if difference.isCancelled { key = "cancellation" }
      if grouped[key] == nil { order.append(key) }
      grouped[key, default: []].append(item)
    }
    for key in order {
      guard let items = grouped[key], let item = items.first else { continue }
      let rule: Rule = key == "cancellation" ? .cancellation : item.difference.rule
      let when = item.condition.isEmpty ? "" : ", when \(item.condition)"
      let details = items.map {
        readable(named($0.difference.detail, parameters).components(separatedBy: "|").last ?? "")
      }
      let list = details.prefix(3).map { "`\($0)`" }.joined(separator: ", ")
      let more = details.count > 3 ? " and \(details.count - 3) more" : ""
      let detail = named(item.difference.detail, parameters).components(separatedBy: "` became `")
        .map(
          readable
        )
        .joined(separator: "` became `")
      let message: String =
        switch rule {
        case .effectLost: "`\(detail)` no longer happens\(when)."
        case .effectRepeated: "`\(detail)` happens again\(when)."
        case .effectAdded: "`\(detail)` is new\(when)."
        case .callReplaced: "`\(detail)`\(when)."
        case .argumentChanged: "`\(detail)`\(when)."
        case .conditionChanged: "The condition `\(detail)`\(when)."
        case .executorChanged, .priorityChanged: "\(list)\(more) \(detail.prefix { $0 != "|" })."
        case .errorSwallowed: "`\(detail)` is no longer thrown\(when)."
        case .errorAdded where items.count > 1: "The function now throws \(list)\(more)."
        case .errorAdded: "The function now throws `\(detail)`\(when)."
        case .errorChanged: "The error `\(detail)`\(when)."
        case .resultChanged where item.difference.parts.count == 1:
          "`\(detail)` is no longer used\(when)."
        case .resultChanged: "The result `\(detail)`\(when)."
        case .orderChanged: "`\(detail)` changed their order\(when)."
        case .becameSequential: "`\(detail)` ran at the same time and now run one after the other."
        case .becameParallel: "`\(detail)` ran one after the other and now run at the same time."
        case .waitLost: "The code no longer waits for \(list)\(more)."
        case .startsLater: "\(list)\(more) started inside the call and now starts later."
        case .callerWaits: "\(list)\(more) ran after the call returned and now runs inside it."
        case .cancellation: "The handling of a cancellation changed: \(list)\(more)."
        case .crash: "The program now crashes\(when)."
        default: detail
        }
      let followers = items.map(\.followers).max() ?? 0
      let rest =
        followers > 0
        ? " \(followers) more place\(followers > 1 ? "s differ" : " differs") after it." : ""
      let severity: Severity? = items.allSatisfy(\.isMinor) ? .note : nil
      let isAboutThreads = [.executorChanged, .priorityChanged].contains(rule)
      add(
        rule, item.difference.detail, function, message + rest, old: item.occurrence.old ?? old,
        new: item.occurrence.new ?? new,
        severity: severity, cause: isAboutThreads ? key : nil)
    }
  }

  /// Adds a finding, unless there is the same one already.
  mutating func add(
    _ rule: Rule, _ detail: String, _ function: String, _ message: String, old: Place?, new: Place?,
    severity: Severity? = nil, cause: String? = nil
  ) {
    let message = named(message, parameters)
    let fingerprint = shortened("\(rule.rawValue)|\(function)|\(detail)")
    guard
      !all.contains(where: { $0.fingerprint == fingerprint && $0.new?.offset == new?.offset })
    else { return }
    all.append(
      Finding(
        rule: rule, severity: severity ?? rule.severity, function: function, message: message,
        old: old, new: new, declaration: new == nil ? nil : declaration, fingerprint: fingerprint,
        cause: cause))
  }
}

/// A message with the names of parameters in place of their numbers.
func named(_ message: String, _ parameters: [String]) -> String {
  var message = message
  for (index, name) in parameters.enumerated().reversed() {
    message = message.replacingOccurrences(of: "parameter \(index)", with: name)
  }
  return message
}
