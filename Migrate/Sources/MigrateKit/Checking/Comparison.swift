/// Compares the paths of two versions of a function.
final class Comparison {
  /// A difference on one pair of paths.
  struct Difference: Hashable {
    let rule: Rule
    let detail: String
    let oldOffset: Int
    let newOffset: Int
  }

  struct Occurrence {
    var old: Place?
    var new: Place?
    var pairs: [Int] = []
    var detail = ""
  }

  let old: [Path]
  let new: [Path]
  /// Compares closures that both versions pass to the same call.
  let compareClosures: (Event, Event) -> Void
  let isFireAndForget: Bool
  private var found: [Difference: Occurrence] = [:]
  private var pairs: [(old: Int, new: Int)] = []
  private var present: [Int: Set<Int>] = [:]

  init(
    old: [Path], new: [Path], isFireAndForget: Bool,
    compareClosures: @escaping (Event, Event) -> Void
  ) {
    let kept = Self.withoutImpossibleFailures(old, new)
    self.old = kept.old
    self.new = kept.new
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

  /// Returns the differences, each with the condition under which it occurs; nil if there are too
  /// many paths to compare.
  func run() -> [(Difference, Occurrence, condition: String)]? {
    let shared = Array(
      Set(old.flatMap(\.decisions.keys)).intersection(new.flatMap(\.decisions.keys)))
    let oldSignatures = old.map { signature($0, shared) }
    let newSignatures = new.map { signature($0, shared) }
    for first in old.indices {
      for second in new.indices where fit(oldSignatures[first], newSignatures[second]) {
        pairs.append((first, second))
        if pairs.count > 4000 { return nil }
      }
    }
    for index in pairs.indices { compare(index) }
    return found.map { difference, occurrence in
      (difference, occurrence, condition(difference, occurrence))
    }
    .sorted { ($0.0.newOffset, $0.0.oldOffset) < ($1.0.newOffset, $1.0.oldOffset) }
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

  private func note(
    _ rule: Rule, _ detail: String, _ old: Place?, _ new: Place?, _ pair: Int
  ) {
    let difference = Difference(
      rule: rule, detail: detail, oldOffset: old?.offset ?? -1, newOffset: new?.offset ?? -1)
    var occurrence = found[difference] ?? Occurrence(old: old, new: new)
    occurrence.pairs.append(pair)
    found[difference] = occurrence
  }

  // MARK: One pair of paths

  private func compare(_ pair: Int) {
    let first = old[pairs[pair].old]
    let second = new[pairs[pair].new]
    let alignment = Alignment(first.events, second.events)
    for index in alignment.missing {
      let event = first.events[index]
      if isConsequence(event, of: second.ending, first.ending) { continue }
      let isRepeated = alignment.same.contains { first.events[$0.old].key == event.key }
      note(
        .effectLost, "\(event.summary)\(isRepeated ? " as often as before" : "")", event.place,
        second.endPlace, pair)
    }
    for index in alignment.added {
      let event = second.events[index]
      let isRepeated = alignment.same.contains { second.events[$0.new].key == event.key }
      note(isRepeated ? .effectRepeated : .effectAdded, event.summary, nil, event.place, pair)
    }
    for match in alignment.changed {
      let (before, after) = (first.events[match.old], second.events[match.new])
      note(
        .argumentChanged, "\(before.summary)` became `\(after.summary)", before.place, after.place,
        pair)
      compareClosures(before, after)
    }
    for match in alignment.replaced {
      let (before, after) = (first.events[match.old], second.events[match.new])
      note(
        .callReplaced, "\(before.summary)` became `\(after.summary)", before.place, after.place,
        pair)
      compareClosures(before, after)
    }
    for match in alignment.same {
      compare(first.events[match.old], second.events[match.new], first, second, pair)
    }
    compareOrder(alignment, first, second, pair)
    compareConcurrency(alignment, first, second, pair)
    compareEndings(first, second, pair)
  }

  /// Whether an event can't happen because the program crashes first.
  private func isConsequence(_ event: Event, of ending: Ending, _ old: Ending) -> Bool {
    ending == .crash && old != .crash
  }

  private func compare(
    _ before: Event, _ after: Event, _ first: Path, _ second: Path, _ pair: Int
  ) {
    compareClosures(before, after)
    guard before.isStrong, after.isStrong else { return }
    if before.isAwaited, !after.isAwaited, before.kind == .call {
      note(.waitLost, after.summary, before.place, after.place, pair)
    }
    if before.priority != after.priority {
      note(
        .priorityChanged,
        "\(after.summary)` now runs with priority `\(after.priority.isEmpty ? "of its caller" : after.priority)",
        before.place, after.place, pair)
    }
    let wasLater = first.lists[before.list] != .own
    let isTask = second.lists[after.list] == .task
    if !wasLater, isTask { note(.startsLater, after.summary, before.place, after.place, pair) }
    if wasLater, second.lists[after.list] == .own, isFireAndForget {
      note(.callerWaits, after.summary, before.place, after.place, pair)
    }
    if before.isParallel != after.isParallel, !before.loops.isEmpty || !after.loops.isEmpty {
      note(
        before.isParallel ? .becameSequential : .becameParallel, after.summary, before.place,
        after.place, pair)
    }
    if before.loops.count < after.loops.count {
      note(.effectRepeated, after.summary + "` runs in a loop: `" + (after.loops.last ?? ""), before.place, after.place, pair)
    }
    if before.loops.count > after.loops.count {
      note(.effectLost, after.summary + "` for each element of `" + (before.loops.last ?? ""), before.place, after.place, pair)
    }
    if !after.isAwaited, Self.differ(before.executor, after.executor) {
      note(
        .executorChanged, "ran on \(before.executor) and now runs on \(after.executor)|\(after.summary)",
        before.place, after.place, pair)
    }
  }

  static func differ(_ before: Executor, _ after: Executor) -> Bool {
    switch (before, after) {
    case (.callback, _), (_, .callback), (.caller, _), (_, .caller): false
    default: before != after
    }
  }

  /// Reports events that moved relative to the others: those outside the longest sequence in which
  /// both versions agree.
  private func compareOrder(
    _ alignment: Alignment, _ first: Path, _ second: Path, _ pair: Int
  ) {
    let matches = alignment.same
      .filter { first.events[$0.old].isStrong && second.events[$0.new].isStrong }
      .sorted { $0.old < $1.old }
    guard matches.count > 1 else { return }
    var best = matches.map { _ in 1 }
    var previous = matches.map { _ in -1 }
    for index in matches.indices {
      for earlier in 0..<index
      where !isInverted(matches[earlier], matches[index], first, second)
        && best[earlier] + 1 > best[index]
      {
        best[index] = best[earlier] + 1
        previous[index] = earlier
      }
    }
    guard var at = best.indices.max(by: { best[$0] < best[$1] }), best[at] < matches.count else {
      return
    }
    var kept: Set<Int> = []
    while at >= 0 {
      kept.insert(at)
      at = previous[at]
    }
    for index in matches.indices where !kept.contains(index) {
      let match = matches[index]
      guard
        let other = kept.sorted().first(where: {
          let (one, two) = $0 < index ? (matches[$0], match) : (match, matches[$0])
          return isInverted(one, two, first, second)
        })
      else { continue }
      note(
        .orderChanged,
        "\(first.events[match.old].summary)` and `\(first.events[matches[other].old].summary)",
        first.events[match.old].place, second.events[match.new].place, pair)
    }
  }

  private func isInverted(
    _ one: (old: Int, new: Int), _ two: (old: Int, new: Int), _ first: Path, _ second: Path
  ) -> Bool {
    first.events[one.old].list == first.events[two.old].list
      && second.events[one.new].list == second.events[two.new].list && one.new > two.new
  }

  /// Compares whether a call starts while another one, before it, is still in progress.
  private func compareConcurrency(
    _ alignment: Alignment, _ first: Path, _ second: Path, _ pair: Int
  ) {
    let matches = alignment.same
      .filter { first.events[$0.old].isAwaited && second.events[$0.new].isAwaited }
      .sorted { $0.old < $1.old }
    for (one, two) in zip(matches, matches.dropFirst()) {
      let wasParallel = first.events[two.old].start < first.events[one.old].end
      let isParallel =
        second.events[two.new].start < second.events[one.new].end
        && second.events[one.new].start < second.events[two.new].end
      guard wasParallel != isParallel else { continue }
      note(
        wasParallel ? .becameSequential : .becameParallel,
        "\(first.events[one.old].summary)` and `\(first.events[two.old].summary)",
        first.events[two.old].place, second.events[two.new].place, pair)
    }
  }

  private func compareEndings(_ first: Path, _ second: Path, _ pair: Int) {
    guard first.ending != second.ending else { return }
    switch (first.ending, second.ending) {
    case (_, .crash): note(.crash, "", first.endPlace, second.endPlace, pair)
    case (.error(let error), .value):
      note(.errorSwallowed, error, first.endPlace, second.endPlace, pair)
    case (.value, .error(let error)):
      note(.errorAdded, error, first.endPlace, second.endPlace, pair)
    case (.error(let before), .error(let after)):
      note(.errorChanged, "\(before)` became `\(after)", first.endPlace, second.endPlace, pair)
    case (.value(let before), .value(let after)):
      note(.resultChanged, "\(before)` became `\(after)", first.endPlace, second.endPlace, pair)
    case (.crash, _): break
    }
  }

  // MARK: Conditions

  /// Describes the paths on which a difference occurs: the answers that all of them share, and that
  /// others don't.
  private func condition(_ difference: Difference, _ occurrence: Occurrence) -> String {
    let with = Set(occurrence.pairs)
    guard with.count < pairs.count, let sample = occurrence.pairs.first else { return "" }
    func decisions(_ pair: Int) -> [String: Bool] {
      old[pairs[pair].old].decisions.merging(new[pairs[pair].new].decisions) { first, _ in first }
    }
    var common = decisions(sample)
    for pair in occurrence.pairs.dropFirst() {
      let other = decisions(pair)
      common = common.filter { other[$0.key] == $0.value }
    }
    let telling = common.filter { question, answer in
      pairs.indices.contains { !with.contains($0) && decisions($0)[question] == !answer }
    }
    return describe(telling)
  }

  private func describe(_ decisions: [String: Bool]) -> String {
    let ranked = decisions.sorted { first, second in
      (rank(first), first.key) < (rank(second), second.key)
    }
    let failing = ranked.filter { rank($0) <= 1 }
    return (failing.isEmpty ? ranked : failing).prefix(2).map(describe).joined(separator: " and ")
  }

  private func rank(_ decision: (key: String, value: Bool)) -> Int {
    if decision.key.hasPrefix("fails: "), decision.value { return 0 }
    if decision.key.hasSuffix(".isCancelled"), decision.value { return 1 }
    return decision.key.hasPrefix("fails: ") ? 3 : 2
  }

  private func describe(_ question: String, _ answer: Bool) -> String {
    let text = readable(question)
    if question.hasPrefix("fails: ") {
      return "`\(readable(String(question.dropFirst(7))))` \(answer ? "fails" : "succeeds")"
    }
    if question.hasSuffix(".isCancelled") {
      return answer ? "the error is a cancellation" : "the error isn't a cancellation"
    }
    if question.hasSuffix(" != nil") {
      return "`\(text.dropLast(7))` \(answer ? "isn't nil" : "is nil")"
    }
    if question.contains(" ~ ") {
      let parts = text.components(separatedBy: " ~ ")
      return "`\(parts[0])` \(answer ? "matches" : "doesn't match") `\(parts.last ?? "")`"
    }
    return "`\(text)` is \(answer)"
  }
}

/// A description without the marks that make it unique.
func readable(_ text: String) -> String {
  var text = text
  if let mark = text.firstIndex(of: "@") { text = String(text[..<mark]) }
  text = text.replacingOccurrences(of: "′", with: "")
  return text.count > 90 ? String(text.prefix(80)) + "…" : text
}

extension Event {
  var summary: String {
    switch kind {
    case .set, .settle, .block: readable(key)
    case .call: readable(key)
    }
  }
}
