/// Compares the paths of two versions of a function.
///
/// A path is explained by a path of the other version that answers no question otherwise and does the
/// same. For a path that none explains, the most similar one says what differs.
final class Comparison {
  /// A path of each version, and what differs between them.
  struct Pair {
    let old: Int
    let new: Int
    var differences: [(difference: Difference, occurrence: Occurrence)] = []
    /// The events that differ: what follows from them isn't reported again.
    var causes: Set<Cause> = []
    /// Whether a call that gets a callback was replaced by one that doesn't, or the reverse.
    var losesCallback = false
    /// The events that get closures in both versions.
    var closures: [(Event, Event)] = []

    var weight: Int { differences.reduce(0) { $0 + $1.difference.weight } }

    /// Whether the same differs here, in the same words.
    func contains(_ difference: Difference) -> Bool {
      differences.contains {
        $0.difference.rule == difference.rule && $0.difference.detail == difference.detail
      }
    }
  }

  let old: [Path]
  let new: [Path]
  let isFireAndForget: Bool
  /// The pairs that describe the differences.
  private(set) var pairs: [Pair] = []
  /// The pair that is being compared, and the moment on its path.
  var current = Pair(old: 0, new: 0)
  var time = 0.0
  /// What the paths contain that are described.
  private lazy var words = (old: Words(old).all, new: Words(new).all)

  init(old: [Path], new: [Path], isFireAndForget: Bool) {
    let kept = Self.withoutImpossibleFailures(old, new)
    (self.old, self.new) = Self.withSharedQuestions(kept.old, kept.new)
    self.isFireAndForget = isFireAndForget
  }

  /// Returns the differences in the order of their places, and the events that get closures in both
  /// versions; nil if there are too many paths to compare.
  func run() -> (divergences: [Divergence], closures: [(Event, Event)])? {
    guard let candidates = compatiblePairs() else { return nil }
    let all = candidates.map { candidate in
      current = Pair(old: candidate.old, new: candidate.new)
      compare()
      return current
    }
    /// The pairs with a path, for each path, under the pair that describes it.
    var chosen: [Int: [[Int]]] = [:]
    for group in Dictionary(grouping: all.indices, by: { all[$0].old }).values {
      if let best = closest(group, all) { chosen[best, default: []].append(group) }
    }
    for group in Dictionary(grouping: all.indices, by: { all[$0].new }).values {
      let likely = withoutCancellations(group, all)
      if let best = closest(likely, all) { chosen[best, default: []].append(likely) }
    }
    // Answers to the questions of both paths lead to the difference, unless these are the same
    // questions in other words.
    let shared = questions(old).intersection(questions(new))
    let asksMore = [old, new].map { paths in
      paths.map { path in
        path.decisions.keys.contains { !shared.contains($0) && !$0.hasSuffix(".isCancelled") }
      }
    }
    func isClosed(_ pair: Pair) -> Bool { !asksMore[0][pair.old] || !asksMore[1][pair.new] }
    for index in all.indices
    where chosen[index] == nil && all[index].weight > 0 && isClosed(all[index]) {
      chosen[index] = [[index]]
    }
    let order = chosen.keys.sorted()
    pairs = order.map { all[$0] }
    var found: [Difference: Divergence] = [:]
    for (index, key) in order.enumerated() {
      let pair = all[key]
      let first = pair.differences.filter { $0.difference.weight > 1 }.map(\.occurrence.time).min()
      for (difference, occurrence) in pair.differences {
        // Whatever the answers are that only one version asks for.
        let isCertain =
          !difference.isComputation
          && chosen[key, default: []].contains { group in
            group.allSatisfy { all[$0].contains(difference) }
          }
        var divergence = found[difference] ?? Divergence(difference, occurrence)
        divergence.pairs.append(index)
        divergence.isCertain = divergence.isCertain || isCertain
        divergence.isClosed = divergence.isClosed || isClosed(pair)
        divergence.isFirst = divergence.isFirst || occurrence.time == first
        found[difference] = divergence
      }
    }
    let causes = pairs.reduce(into: Set<Cause>()) { $0.formUnion($1.causes) }
    let losesCallback = pairs.contains(where: \.losesCallback)
    let conditions = changedCondition().map { [$0] } ?? []
    let divergences = (found.values + conditions).filter {
      let difference = $0.difference
      return !(difference.isCancelled && found[difference.general] != nil)
        && !difference.isConsequence(of: causes, losesCallback: losesCallback)
        && !difference.isOtherComputation { words }
    }
    .map { divergence in
      var divergence = divergence
      divergence.condition = condition(divergence)
      return divergence
    }
    .sorted { $0.difference < $1.difference }
    return (divergences, pairs.flatMap(\.closures))
  }

  private func closest(_ group: [Int], _ all: [Pair]) -> Int? {
    group.min { (all[$0].weight, $0) < (all[$1].weight, $1) }
  }

  /// The pairs with a new path that doesn't ask for cancellations, where the old path has none.
  private func withoutCancellations(_ group: [Int], _ all: [Pair]) -> [Int] {
    let likely = group.filter { index in
      !old[all[index].old].decisions.contains {
        $0.value && $0.key.hasSuffix(".isCancelled")
          && new[all[index].new].decisions[$0.key] == nil
      }
    }
    return likely.isEmpty ? group : likely
  }

  private func questions(_ paths: [Path]) -> Set<String> { Set(paths.flatMap(\.decisions.keys)) }

  /// The condition that each version checks and the other one doesn't.
  private func changedCondition() -> Divergence? {
    func conditions(_ paths: [Path]) -> Set<String> {
      questions(paths).filter { question in
        !["fails: ", "passes: "].contains(where: question.hasPrefix)
          && !question.hasSuffix(".isCancelled")
      }
    }
    let (all, others) = (conditions(old), conditions(new))
    let (before, after) = (all.subtracting(others).sorted(), others.subtracting(all).sorted())
    guard let first = before.first, let second = after.first else { return nil }
    let difference = Difference(
      rule: .conditionChanged, detail: "\(first)` became `\(second)", oldOffset: -1, newOffset: -1)
    var result = Divergence(
      difference, Occurrence(old: nil, new: nil, event: nil, time: .infinity))
    result.pairs = Array(pairs.indices)
    result.isFirst = true
    // Another comparison of the same values, or the same one with another value.
    let words = (Words(first).all, Words(second).all)
    result.isCertain =
      before.count == 1 && after.count == 1 && words.0.subtracting(words.1).count <= 1
      && words.1.subtracting(words.0).count <= 1 && !words.0.isDisjoint(with: words.1)
      && [" != nil", " ~ "].allSatisfy { first.contains($0) == second.contains($0) }
    return result
  }

  /// The pairs of paths that answer all common questions equally; nil if there are too many.
  private func compatiblePairs() -> [(old: Int, new: Int)]? {
    let shared = Array(
      Set(old.flatMap(\.decisions.keys)).intersection(new.flatMap(\.decisions.keys)))
    let answers = (old.map { Answers($0, shared) }, new.map { Answers($0, shared) })
    var result: [(old: Int, new: Int)] = []
    for (first, before) in answers.0.enumerated() {
      for (second, after) in answers.1.enumerated()
      where fit(before.signature, after.signature)
        && !before.contradicts(after) && !after.contradicts(before)
        && before.cases.allSatisfy({ after.cases[$0.key] ?? $0.value == $0.value })
      {
        result.append((first, second))
        if result.count > 4000 { return nil }
      }
    }
    return result
  }

  /// The cases of enumerations that values are known to be on a path.
  fileprivate static func cases(_ path: Path) -> [Substring: Substring] {
    var result: [Substring: Substring] = [:]
    for (question, holds) in path.decisions where holds {
      if let (subject, name) = CaseName.split(question) { result[subject] = name }
    }
    return result
  }

  /// What paths with contradicting answers are found by.
  private struct Answers {
    let signature: [Int8]
    /// The cases of enumerations that values are known to be.
    let cases: [Substring: Substring]
    /// The calls that fail, and the values that are nil.
    let failures: Set<String>
    let missing: [Substring]
    /// The questions about types whose answer is no.
    let otherTypes: [String]
    /// The values without which the program ends.
    let present: Set<String>

    init(_ path: Path, _ shared: [String]) {
      present = path.present
      signature = shared.map { path.decisions[$0].map { $0 ? 1 : 2 } ?? 0 }
      cases = Comparison.cases(path)
      failures = path.failures
      missing = path.decisions.filter { !$0.value && $0.key.hasSuffix(" != nil") }
        .map { $0.key.dropLast(7) }
      otherTypes = path.decisions.filter { !$0.value && $0.key.contains(" is ") }.map(\.key)
    }

    /// Whether the other path has a case of an error that isn't of its type here, or a value has to
    /// be there that is nil here: the receiver of a call that fails, or one before `!`.
    func contradicts(_ other: Answers) -> Bool {
      // An error that is a case of a type is of this type.
      otherTypes.contains { question in
        other.cases.keys.contains { question.hasPrefix($0 + " is ") }
      }
        || missing.contains { value in
          other.present.contains(String(value))
            || other.failures.contains {
              $0.hasPrefix(value) && $0.dropFirst(value.count).hasPrefix(".")
            }
        }
    }
  }

  private func fit(_ first: [Int8], _ second: [Int8]) -> Bool {
    for (one, other) in zip(first, second) where one != 0 && other != 0 && one != other {
      return false
    }
    return true
  }

  /// Notes a difference on the pair that is being compared.
  func note(
    _ rule: Rule, _ detail: String, _ old: Place?, _ new: Place?, _ event: Event? = nil,
    at time: Double? = nil
  ) {
    var difference = Difference(
      rule: rule, detail: detail, oldOffset: old?.offset ?? -1,
      newOffset: rule == .effectLost ? -1 : new?.offset ?? -1)
    // Where both versions ask whether an error is a cancellation, they have to agree.
    let cancellations = [self.old[current.old], self.new[current.new]].map { path in
      path.decisions.filter {
        $0.value
          && ($0.key.hasSuffix(".isCancelled") || $0.key.hasPrefix("fails: Task.checkCancellation"))
      }
    }
    difference.isCancelled = cancellations[0] != cancellations[1]
    if current.differences.contains(where: { $0.difference == difference }) { return }
    current.differences.append(
      (difference, Occurrence(old: old, new: new, event: event, time: time ?? self.time)))
  }

  /// Leaves out failures that only one version considers, of calls that the other one makes without
  /// `try`: these can't throw.
  private static func withoutImpossibleFailures(
    _ old: [Path], _ new: [Path]
  ) -> (old: [Path], new: [Path]) {
    func questions(_ paths: [Path]) -> Set<String> {
      Set(paths.flatMap(\.decisions.keys).filter { $0.hasPrefix("fails: ") })
    }
    // A function that calls back can report an error to its callback, and a promise that is ignored
    // has one, too.
    func keys(_ paths: [Path]) -> Set<String> {
      Set(
        paths.flatMap { path in
          path.events.filter { event in
            let isIgnored = event.isPromise && path.ending != .value(event.key)
            return event.isAwaited || event.closures.isEmpty && !isIgnored
          }
          .map(\.key)
        })
    }
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
}
