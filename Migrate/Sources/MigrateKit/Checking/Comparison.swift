/// Compares the paths of two versions of a function.
final class Comparison {
  /// A difference on one pair of paths.
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

    /// Whether only a log tells, whether two assignments changed their order, which only observers notice, or whether an
    /// actor replaces a queue: both run one piece of code at a time.
    var isMinor: Bool {
      // A line in the log, which `cauterize` writes.
      if rule == .effectLost { return detail.hasPrefix("conf.logHandler(.cauterized(") }
      if rule == .executorChanged {
        return detail.hasPrefix("ran on the queue ") && detail.contains(" now runs on the actor ")
      }
      guard rule == .orderChanged else { return false }
      let parts = detail.components(separatedBy: "` and `")
      return parts.count == 2 && parts.allSatisfy { $0.contains(" = ") }
    }
  }

  /// The places and paths of a difference.
  struct Occurrence {
    var old: Place?
    var new: Place?
    var pairs: [Int] = []
  }

  /// What differs: an event of either version, or both.
  struct Cause: Hashable {
    var old: String?
    var new: String?
  }

  let old: [Path]
  let new: [Path]
  /// Compares closures that both versions pass to the same call.
  let compareClosures: (Event, Event) -> Void
  let isFireAndForget: Bool
  private var found: [Difference: Occurrence] = [:]
  private(set) var pairs: [(old: Int, new: Int)] = []
  /// The events that differ: what follows from them isn't reported again.
  var causes: Set<Cause> = []
  /// Whether a call that gets a callback was replaced by one that doesn't, or the reverse.
  var losesCallback = false

  init(
    old: [Path], new: [Path], isFireAndForget: Bool,
    compareClosures: @escaping (Event, Event) -> Void
  ) {
    let kept = Self.withoutImpossibleFailures(old, new)
    (self.old, self.new) = Self.withSharedQuestions(kept.old, kept.new)
    self.isFireAndForget = isFireAndForget
    self.compareClosures = compareClosures
  }

  /// Leaves out failures that only one version considers, of calls that the other one makes without
  /// `try`: these can't throw.
  private static func withoutImpossibleFailures(
    _ old: [Path], _ new: [Path]
  ) -> (old: [Path], new: [Path]) {
    func questions(_ paths: [Path]) -> Set<String> {
      Set(paths.flatMap(\.decisions.keys).filter { $0.hasPrefix("fails: ") })
    }
    func keys(_ paths: [Path]) -> Set<String> { Set(paths.flatMap { $0.events.map(\.key) }) }
    let onlyOld = questions(old).subtracting(questions(new))
    let onlyNew = questions(new).subtracting(questions(old))
    let oldKeys = keys(old)
    let newKeys = keys(new)
    func possible(_ path: Path, _ only: Set<String>, _ other: Set<String>) -> Bool {
      !path.decisions.contains { question, fails in
        fails && only.contains(question) && other.contains(String(question.dropFirst(7)))
      }
    }
    return (
      old.filter { possible($0, onlyOld, newKeys) }, new.filter { possible($0, onlyNew, oldKeys) }
    )
  }

  /// Gives one name to the questions whether `value` and `value.member` are nil, if each version
  /// asks one of them: then the other part can't be nil.
  private static func withSharedQuestions(_ old: [Path], _ new: [Path]) -> ([Path], [Path]) {
    func questions(_ paths: [Path]) -> Set<String> {
      Set(paths.flatMap(\.decisions.keys).filter { $0.hasSuffix(" != nil") })
    }
    let (first, second) = (questions(old), questions(new))
    var names: [String: String] = [:]
    func share(_ own: Set<String>, _ others: Set<String>) {
      for question in own.subtracting(others) {
        let start = question.dropLast(7) + "."
        let longer = others.subtracting(own).filter { $0.hasPrefix(start) }
        if longer.count == 1, let other = longer.first { names[other] = question }
      }
    }
    share(first, second)
    share(second, first)
    if names.isEmpty { return (old, new) }
    func renamed(_ paths: [Path]) -> [Path] {
      paths.map { path in
        var path = path
        path.decisions = Dictionary(
          path.decisions.map { (names[$0.key] ?? $0.key, $0.value) }, uniquingKeysWith: { $1 })
        return path
      }
    }
    return (renamed(old), renamed(new))
  }

  /// Returns the differences, each with the condition under which it occurs; nil if there are too
  /// many paths to compare.
  func run() -> [(Difference, Occurrence, condition: String)]? {
    let shared = Array(
      Set(old.flatMap(\.decisions.keys)).intersection(new.flatMap(\.decisions.keys)))
    let oldSignatures = old.map { signature($0, shared) }
    let newSignatures = new.map { signature($0, shared) }
    let oldCases = old.map(Self.cases)
    let newCases = new.map(Self.cases)
    for first in old.indices {
      for second in new.indices
      where fit(oldSignatures[first], newSignatures[second])
        && !contradicts(old[first], new[second]) && !contradicts(new[second], old[first])
        && oldCases[first].allSatisfy({ newCases[second][$0.key] ?? $0.value == $0.value })
      {
        pairs.append((first, second))
        if pairs.count > 4000 { return nil }
      }
    }
    for index in pairs.indices { compare(index) }
    return found.filter { !isConsequence($0.key) && !isOtherComputation($0.key) }.map {
      difference, occurrence in
      (difference, occurrence, condition(difference, occurrence))
    }
    .sorted { $0.0 < $1.0 }
  }

  /// The cases of enumerations that values are known to be on a path.
  private static func cases(_ path: Path) -> [Substring: Substring] {
    var result: [Substring: Substring] = [:]
    for (question, holds) in path.decisions where holds {
      if let (subject, name) = CaseName.split(question) { result[subject] = name }
    }
    return result
  }

  /// Whether a call fails on the second path whose receiver is nil on the first one.
  private func contradicts(_ first: Path, _ second: Path) -> Bool {
    second.decisions.contains { question, fails in
      fails && question.hasPrefix("fails: ")
        && first.decisions.contains { other, hasValue in
          !hasValue && other.hasSuffix(" != nil")
            && question.dropFirst(7).hasPrefix(other.dropLast(7) + ".")
        }
    }
  }

  private func signature(_ path: Path, _ questions: [String]) -> [Int8] {
    questions.map { path.decisions[$0].map { $0 ? 1 : 2 } ?? 0 }
  }

  private func fit(_ first: [Int8], _ second: [Int8]) -> Bool {
    for (one, other) in zip(first, second) where one != 0 && other != 0 && one != other {
      return false
    }
    return true
  }

  func note(
    _ rule: Rule, _ detail: String, _ old: Place?, _ new: Place?, _ pair: Int
  ) {
    var difference = Difference(
      rule: rule, detail: detail, oldOffset: old?.offset ?? -1,
      newOffset: rule == .effectLost ? -1 : new?.offset ?? -1)
    difference.isCancelled = isCancelled(pair)
    var occurrence = found[difference] ?? Occurrence(old: old, new: new)
    occurrence.pairs.append(pair)
    found[difference] = occurrence
  }

  private func isCancelled(_ pair: Int) -> Bool {
    [old[pairs[pair].old].decisions, new[pairs[pair].new].decisions].contains { decisions in
      decisions.contains { $0.value && $0.key.hasSuffix(".isCancelled") }
    }
  }

  /// Whether both versions compute a value from the same collections with the same functions: how
  /// they go through the elements can't be compared.
  private func isOtherComputation(_ difference: Difference) -> Bool {
    guard [.resultChanged, .argumentChanged].contains(difference.rule) else { return false }
    let parts = difference.detail.components(separatedBy: "` became `")
    guard parts.count == 2, parts.contains(where: Words.describesElements),
      // An order that is lost, or elements that are left out.
      ["unordered ", "[]"].allSatisfy({ parts[0].contains($0) == parts[1].contains($0) }),
      Words.shape(parts[0]) != Words.shape(parts[1])
    else { return false }
    return Words(parts[0]).all.isSubset(of: newWords) && Words(parts[1]).all.isSubset(of: oldWords)
  }

  private lazy var oldWords = Words(old).all
  private lazy var newWords = Words(new).all

  /// Whether a difference is explained by another one: it mentions a call that differs, or occurs
  /// for other errors than cancellations, too.
  private func isConsequence(_ difference: Difference) -> Bool {
    if difference.isCancelled {
      var general = difference
      general.isCancelled = false
      if found[general] != nil { return true }
    }
    let isEnding = [.errorSwallowed, .errorAdded, .errorChanged, .resultChanged]
      .contains(difference.rule)
    func mentions(_ part: String, _ key: String?) -> Bool {
      guard let key else { return false }
      // The texts of errors are shortened more than those of calls.
      let start = isEnding && key.utf8.count > 150 ? key.prefix(110) : key[...]
      return part.contains(start) && (part != key || isEnding)
    }
    let parts = difference.detail.components(separatedBy: "` became `")
    // The call that settled a promise later was replaced, and with it all results.
    if isEnding, losesCallback, difference.detail.contains("callback ") || parts.count == 1 {
      return true
    }
    return causes.contains { cause in
      let old = mentions(parts[0], cause.old)
      let new = mentions(parts.last ?? "", cause.new)
      switch difference.rule {
      case .errorSwallowed: return old
      case .errorAdded: return new
      case .effectLost: return old && cause.new != nil
      case .effectAdded, .effectRepeated: return new && cause.old != nil
      default: return isEnding ? old || new : parts.count > 1 && old && new
      }
    }
  }
}
