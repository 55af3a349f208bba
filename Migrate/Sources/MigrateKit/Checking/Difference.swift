import Foundation

/// A difference between two paths.
struct Difference: Hashable, Comparable {
  let rule: Rule
  let detail: String
  let oldOffset: Int
  let newOffset: Int
  /// Whether an error on the path represents a cancellation.
  var isCancelled = false

  /// Compares by place, and then by everything else: the order of findings is always the same.
  static func < (first: Difference, second: Difference) -> Bool {
    (
      first.newOffset, first.oldOffset, first.rule.rawValue, first.detail,
      first.isCancelled ? 1 : 0
    ) < (
      second.newOffset, second.oldOffset, second.rule.rawValue, second.detail,
      second.isCancelled ? 1 : 0
    )
  }

  /// The same difference on paths without a cancellation.
  var general: Difference {
    var general = self
    general.isCancelled = false
    return general
  }

  /// The rule and the places, which several values can have in common.
  var site: String { "\(rule.rawValue)|\(oldOffset)|\(newOffset)" }

  /// How much the difference says against a pair of paths; 1 if it says nothing about what they do.
  var weight: Int {
    switch rule {
    case .executorChanged, .priorityChanged, .startsLater, .callerWaits, .becameSequential,
      .becameParallel:
      1
    case .argumentChanged, .callReplaced, .orderChanged, .waitLost: 3
    default: 4
    }
  }

  /// Whether only a log tells, whether two assignments changed their order, which only observers
  /// notice, or whether an actor replaces a queue: both run one piece of code at a time.
  var isMinor: Bool {
    // A line in the log, which `cauterize` writes.
    if rule == .effectLost { return detail.hasPrefix("conf.logHandler(.cauterized(") }
    if replacesLibraryError { return true }
    // A message in other letters.
    if rule == .argumentChanged || rule == .errorChanged {
      let parts = parts.map { $0.lowercased().filter { $0.isLetter || $0.isNumber } }
      return parts.count == 2 && parts[0] == parts[1]
        && self.parts[0].contains("\"") && self.parts[1].contains("\"")
        && Words.shape(self.parts[0]).filter { $0 != "." }
          == Words.shape(self.parts[1]).filter { $0 != "." }
    }
    if rule == .callReplaced { return parts.allSatisfy(Event.writesLog) || isOtherReceiver }
    if rule == .executorChanged {
      return detail.hasPrefix("ran on the queue ") && detail.contains(" now runs on the actor ")
    }
    guard rule == .orderChanged else { return false }
    let parts = detail.components(separatedBy: "` and `")
    return parts.count == 2 && parts.allSatisfy { $0.contains(" = ") }
  }

  /// Whether the same method of a parameter is called in place of that of a property, or the reverse:
  /// the parameter is the object that the property was.
  private var isOtherReceiver: Bool {
    let isParameter = parts.map { part in
      ["parameter ", "argument "].contains(where: part.hasPrefix)
    }
    let calls = parts.map { $0.drop { $0 != "." } }
    return calls.count == 2 && isParameter[0] != isParameter[1] && calls[0] == calls[1]
      && !calls[0].isEmpty
  }

  /// Whether only another error stands where a library's did, which code without the library can't have.
  private var replacesLibraryError: Bool {
    guard [.errorChanged, .argumentChanged].contains(rule), parts.count == 2,
      let error = parts[0].firstRange(of: /\b(PMKError|PromiseError)\.\w+/),
      !parts[0][error].hasSuffix(".cancelled")
    else { return false }
    let (start, end) = (parts[0][..<error.lowerBound], parts[0][error.upperBound...])
    guard parts[1].hasPrefix(start), parts[1].hasSuffix(end) else { return false }
    return parts[1].dropFirst(start.count).dropLast(end.count)
      .wholeMatch(of: /\w+(\([^()]*\))?(\.\w+(\([^()]*\))?)*/) != nil
  }

  /// What was there before, and what is there now.
  var parts: [String] { detail.components(separatedBy: "` became `") }

  /// Whether only one version describes what it does with the elements of a collection, so that what
  /// they compute can be the same.
  var isComputation: Bool {
    let parts = parts
    return parts.count == 2
      && Words.describesElements(parts[0]) != Words.describesElements(parts[1])
      && ["unordered ", "[]"].allSatisfy { parts[0].contains($0) == parts[1].contains($0) }
  }

  /// Whether both versions compute a value from the same collections with the same functions: how
  /// they go through the elements can't be compared.
  func isOtherComputation(_ words: () -> (old: Set<Substring>, new: Set<Substring>)) -> Bool {
    guard [.resultChanged, .argumentChanged].contains(rule) else { return false }
    let parts = parts
    guard parts.count == 2, parts.contains(where: Words.describesElements),
      // An order that is lost, or elements that are left out.
      ["unordered ", "[]"].allSatisfy({ parts[0].contains($0) == parts[1].contains($0) }),
      Words.shape(parts[0]) != Words.shape(parts[1])
    else { return false }
    let (old, new) = words()
    return Words(parts[0]).all.isSubset(of: new) && Words(parts[1]).all.isSubset(of: old)
  }

  /// Whether another difference explains this one: it mentions a call that differs.
  func isConsequence(of causes: Set<Cause>, losesCallback: Bool) -> Bool {
    let isEnding = [.errorSwallowed, .errorAdded, .errorChanged, .resultChanged].contains(rule)
    func mentions(_ part: String, _ key: String?) -> Bool {
      guard let key else { return false }
      // The texts of errors are shortened more than those of calls.
      let start = isEnding && key.utf8.count > 150 ? key.prefix(110) : key[...]
      return part.contains(start) && (part != key || isEnding)
    }
    let parts = parts
    // The call that settled a promise later was replaced, and with it all results.
    if isEnding, losesCallback, detail.contains("callback ") || parts.count == 1 { return true }
    return causes.contains { cause in
      let old = mentions(parts[0], cause.old)
      let new = mentions(parts.last ?? "", cause.new)
      switch rule {
      case .errorSwallowed: return old
      case .errorAdded: return new
      case .effectLost: return old && cause.new != nil
      case .effectAdded, .effectRepeated: return new && cause.old != nil
      default: return isEnding ? old || new : parts.count > 1 && old && new
      }
    }
  }
}

/// What differs: an event of either version, or both.
struct Cause: Hashable {
  var old: String?
  var new: String?
}

/// Where a difference is on a pair of paths.
struct Occurrence {
  let old: Place?
  let new: Place?
  /// The event that only one path has.
  let event: Event?
  /// When the path reaches it.
  let time: Double
}

/// A difference with the pairs of paths that it occurs on.
struct Divergence {
  let difference: Difference
  let occurrence: Occurrence
  var pairs: [Int] = []
  /// Whether a path has it in comparison with all that it can be compared with.
  var isCertain = false
  /// Whether both versions ask all that the paths of a pair with it ask.
  var isClosed = false
  /// Whether a path has no other difference before it.
  var isFirst = false
  /// How many other places differ after it.
  var followers = 0
  /// The condition under which it occurs.
  var condition = ""
  /// Whether the queue isn't there anymore on which something ran that doesn't run on the main thread,
  /// or an object that became an actor does this with its own members.
  var isHarmless = false

  /// Whether only a log tells, or an observer; nothing cancelled the work that a new check ends.
  var isMinor: Bool {
    isHarmless || difference.isMinor
      || difference.rule == .effectAdded && isCancellation
      || isLog && [.effectAdded, .argumentChanged].contains(difference.rule)
  }

  /// Whether this is about a line in a log.
  var isLog: Bool { occurrence.event?.isLog ?? false }

  /// Whether this only ends work, or only asks whether it was ended, which promises can't.
  private var isCancellation: Bool {
    ["Task.checkCancellation", "promise.cancel"].contains(occurrence.event?.subject)
  }

  init(_ difference: Difference, _ occurrence: Occurrence) {
    self.difference = difference
    self.occurrence = occurrence
  }
}
