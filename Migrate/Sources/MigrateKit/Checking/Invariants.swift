/// What holds on all paths of a version: where an effect happens, what happens whenever a call fails,
/// which of two effects comes first, and what is repeated together.
///
/// Two versions that ask other questions have no paths in common, but what holds on all paths of each
/// can be compared: if the opposite of what held holds now, that is a difference on any path.
struct Invariants {
  private(set) var divergences: [Divergence] = []
  private let old: Side
  private let new: Side

  init(_ old: Version, _ new: Version, comparesLoops: Bool) {
    let traces = (Trace.all(old), Trace.all(new))
    let numbers = Self.numbers(traces.0, traces.1)
    self.old = Side(traces.0, numbers)
    self.new = Side(traces.1, numbers)
    compareExecutors()
    compareAnswers(
      isVague: traces.1.contains(where: \.path.isVague),
      blocks: traces.0.contains { trace in
        trace.path.events.contains { $0.subject.hasPrefix("DispatchSemaphore") }
      })
    comparePairs(comparesLoops: comparesLoops)
    comparePauses(old.members, new)
    compareFinalizers(traces.0, traces.1)
    compareConstants()
    compareRounds(traces.0, traces.1)
    if new.members.catchesAll { compareErrorTypes(traces.0, traces.1) }
    if new.function.plainResult.hasPrefix("["), !new.function.plainResult.contains(":") {
      compareResults(traces.0, traces.1)
    }
    compareNames(old, new)
    compareErrors(old, new)
  }

  /// Numbers for the effects that both versions have: by their texts, and by their names and text
  /// literals for those whose text only one version has.
  private static func numbers(_ old: [Trace], _ new: [Trace]) -> [String: Int] {
    func names(_ traces: [Trace]) -> [String: String] {
      traces.reduce(into: [:]) { names, trace in
        for event in trace.path.events where names[event.key] == nil {
          names[event.key] = event.name + " " + event.key.literals.joined(separator: " ")
        }
      }
    }
    let (first, second) = (names(old), names(new))
    var result: [String: Int] = [:]
    for key in first.keys.sorted() where second[key] != nil { result[key] = result.count }
    var groups: [String: Int] = [:]
    let others = Set(second.filter { result[$0.key] == nil }.values)
    for key in first.keys.sorted() {
      guard result[key] == nil, let name = first[key], others.contains(name) else { continue }
      let number = groups[name] ?? first.count + groups.count
      groups[name] = number
      result[key] = number
    }
    for (key, name) in second where result[key] == nil { result[key] = groups[name] }
    return result
  }

  private mutating func add(
    _ rule: Rule, _ detail: String, _ before: Event?, _ after: Event?, _ condition: String = ""
  ) {
    let difference = Difference(
      rule: rule, detail: detail, oldOffset: before?.place.offset ?? -1,
      newOffset: rule == .effectLost ? -1 : after?.place.offset ?? -1)
    let occurrence = Occurrence(
      old: before?.place, new: after?.place, event: after ?? before, time: 0)
    var divergence = Divergence(difference, occurrence)
    divergence.condition = condition
    divergences.append(divergence)
  }

  /// The effects of both versions, in an order that is always the same.
  private var shared: [(number: Int, old: Event, new: Event)] {
    old.samples.keys.sorted().compactMap { number in
      guard let one = old.samples[number], let two = new.samples[number], one.isStrong,
        two.isStrong,
        one.baseName.first?.isUppercase != true
      else { return nil }
      return (number, one, two)
    }
  }

  private mutating func compareExecutors() {
    for (number, before, after) in shared where Comparison.isBound(after) && !before.isAwaited {
      guard let one = old.executors[number], let two = new.executors[number], one.count == 1,
        two.count == 1, let place = one.first, let other = two.first,
        Comparison.differ(place, other)
      else { continue }
      add(
        .executorChanged, "ran on \(place) and now runs on \(other)|\(after.summary)", before, after
      )
    }
  }

  /// Compares what always happens, or never does, when a question has an answer.
  ///
  /// After a failure, a thread that blocks perhaps waits forever.
  private mutating func compareAnswers(isVague: Bool, blocks: Bool) {
    let names = old.contexts.keys.filter { new.contexts[$0] != nil }.sorted()
    for (answer, before) in old.answers.sorted(by: { $0.key < $1.key }) {
      // What is asked in a closure, and what happens there, isn't compared with what happens around it.
      guard let after = new.answers[answer], before.contexts.count == 1, after.contexts.count == 1,
        !answer.question.hasSuffix(".isCancelled"),
        !blocks || !answer.question.hasPrefix("fails: ")
      else { continue }
      let call = answer.question.hasPrefix("fails: ") ? Int(answer.question.dropFirst(7)) : nil
      let (one, two) = (call.flatMap { old.samples[$0] }, call.flatMap { new.samples[$0] })
      let isEffect = answer.question.hasPrefix("after: ")
      let condition =
        isEffect
        ? "`\(answer.question.dropFirst(7))` happens"
        : described(one.map { "fails: " + $0.key } ?? answer.question, answer.holds)
      for name in names
      where old.contexts[name] == before.contexts && new.contexts[name] == after.contexts {
        if before.names[name]?.count == before.count, after.names[name] == nil,
          let event = before.names[name]?.event, event.isStrong
        {
          add(.effectLost, event.key, event, nil, condition)
        } else if !isEffect, before.names[name] == nil, after.names[name]?.count == after.count,
          let event = after.names[name]?.event, event.isStrong
        {
          add(.effectAdded, event.key, nil, event, condition)
        }
      }
      guard answer.holds, !isVague, let one, let two, before.contexts == [[]],
        after.contexts == [[]]
      else { continue }
      if before.errors == before.count, after.errors == 0 {
        add(.errorSwallowed, "error of \(one.key)", one, two, condition)
      } else if before.errors == 0, after.errors == after.count {
        add(.errorAdded, "error of \(two.key)", one, two, condition)
      }
    }
  }

  /// Reports properties that the old version always sets after a call, whether it fails or not, and the
  /// new one on some paths only.
  private mutating func compareFinalizers(_ old: [Trace], _ new: [Trace]) {
    func paths(_ traces: [Trace]) -> [Path] {
      traces.filter { $0.context.isEmpty && $0.path.ending != .crash }.map(\.path)
    }
    let (before, after) = (paths(old), paths(new))
    let failures = before.map(\.failures)
    for (_, one, two) in shared where one.kind == .set && one.key == two.key && one.isFinal {
      for (_, call, other) in shared where call.isAwaited && other.isAwaited {
        let with = before.indices.filter { before[$0].sets(one, after: call) != nil }
        guard with.allSatisfy({ before[$0].sets(one, after: call) ?? false }),
          with.contains(where: { !failures[$0].isEmpty }),
          with.contains(where: { failures[$0].isEmpty })
        else { continue }
        let known = with.reduce(into: Set<String>()) { $0.formUnion(failures[$1]) }
        let all = after.filter { $0.sets(two, after: other) != nil }
        guard all.contains(where: { $0.sets(two, after: other) ?? false }),
          let path = all.first(where: { path in
            path.sets(two, after: other) == false && path.failures.isSubset(of: known)
              && !path.decisions.contains { $0.value && $0.key.contains("ancel") }
          })
        else { continue }
        let failure = path.failures.sorted().first.map { described("fails: " + $0, true) }
        add(.effectLost, one.key, one, other, failure ?? "`\(other.key)` succeeds")
        break
      }
    }
  }

  /// Reports pauses that the new version hasn't, whatever the function is called that pauses.
  private mutating func comparePauses(_ old: WrittenMembers, _ new: Version) {
    let words = new.members.words
    let isPaused =
      self.new.pauses.contains { $0.seconds == nil }
      || words.contains { word in
        ["sleep", "pause", "after", "delay", "timeout", "deadline"]
          .contains(where: word.lowercased().contains)
      }
    let numbers = Set(words.compactMap { Double($0.filter { $0 != "_" }) })
    for pause in self.old.pauses where !self.new.pauses.contains(where: { $0.key == pause.key }) {
      if let seconds = pause.seconds {
        if [1, 1e3, 1e6, 1e9].contains(where: { numbers.contains(seconds * $0) }) { continue }
        // Another function of the file pauses for it.
        if new.members.elsewhere.keys.contains(where: {
          Double($0) == seconds && new.members.gains($0, over: old)
        }) {
          continue
        }
        if self.new.pauses.contains(where: { $0.seconds == nil }) { continue }
      } else if isPaused {
        continue
      }
      add(.effectLost, pause.key, pause, nil)
    }
  }

  /// Reports effects with constants, such as `exit(1)`, of which the new version has others only.
  private mutating func compareConstants() {
    for (name, before) in old.constants.sorted(by: { $0.key < $1.key }) {
      guard let after = new.constants[name], Set(after.keys).isSubset(of: before.keys) else {
        continue
      }
      for (constants, event) in before.sorted(by: { $0.key < $1.key })
      where after[constants] == nil && event.values == constants && !event.isOwn {
        add(.effectLost, event.key, event, nil)
      }
    }
  }

  /// Compares what makes earlier work end: a number of the round that each piece of work compares with
  /// its own, and the cancellation of tasks.
  private mutating func compareRounds(_ old: [Trace], _ new: [Trace]) {
    let all = new
    let (old, new) = (old.filter(\.context.isEmpty), new.filter(\.context.isEmpty))
    let rounds = Set(old.flatMap(\.path.decisions.keys).compactMap(Self.round))
    guard let round = rounds.first, rounds.count == 1,
      old.allSatisfy({ $0.path.events.contains { $0.kind == .set && $0.subject == round } }),
      let change = old.first?.path.events.first(where: { $0.kind == .set && $0.subject == round })
    else { return }
    func cancels(_ event: Event) -> Bool { event.baseName == "cancel" && event.isStrong }
    let without = new.filter { !$0.path.events.contains(where: cancels) }
    if !without.isEmpty, without.count < new.count,
      let cancel = new.lazy.flatMap(\.path.events).first(where: cancels)
    {
      add(.effectLost, change.key, change, cancel, "`\(cancel.key)` doesn't happen")
    }
    // A task that is cancelled while it pauses goes on at once.
    for trace in all {
      guard let pause = trace.path.events.first(where: { $0.subject == "sleep" }),
        trace.path.decisions["fails: \(pause.key)"] == true,
        !trace.path.decisions.keys.contains(where: {
          $0.contains("isCancelled") || $0.contains("checkCancellation")
        }),
        let next = trace.path.events.first(where: {
          $0.isStrong && $0.start > pause.start && $0.origin == pause.origin
            && $0.subject != "sleep" && $0.baseName != "cancel"
        })
      else { continue }
      add(.effectAdded, next.key, change, next, "a cancellation ends `\(pause.key)`")
      return
    }
  }

  /// The property that is compared with its own earlier value.
  private static func round(_ question: String) -> String? {
    let parts = question.components(separatedBy: " == ")
    guard parts.count == 2, parts[0] == parts[1].prefix(while: { $0 != "@" }) else { return nil }
    return parts[0]
  }

  /// Reports errors that the old version throws because of their types, if the new one catches all of
  /// them and asks nothing about them.
  private mutating func compareErrorTypes(_ old: [Trace], _ new: [Trace]) {
    func asks(_ question: String) -> Bool {
      question.hasPrefix("error of ") && !question.hasSuffix(".isCancelled")
    }
    guard
      !new.contains(where: { trace in
        trace.path.decisions.keys.contains(where: asks)
          // Another function perhaps asks.
          || trace.path.events.contains {
            $0.kind == .call && $0.isOwn && $0.values.contains("error of ")
          }
      })
    else { return }
    for trace in old where trace.context.isEmpty {
      guard case .error(let error) = trace.path.ending,
        let question = trace.path.decisions.keys.sorted().first(where: {
          asks($0) && $0.hasPrefix(error) && trace.path.decisions[$0] == false
        }),
        let event = trace.path.events.first(where: { error == "error of \($0.key)" }),
        self.new.contexts[event.name] != nil
      else { continue }
      add(.errorSwallowed, error, event, nil, described(question, false))
      return
    }
  }

  /// Reports a list of results that had the order of what they are computed from, and now has that in
  /// which they arrive.
  private mutating func compareResults(_ old: [Trace], _ new: [Trace]) {
    func values(_ traces: [Trace]) -> [String] {
      traces.compactMap {
        guard case .value(let text) = $0.path.ending, $0.context.isEmpty else { return nil }
        return text
      }
    }
    let (before, after) = (values(old), values(new))
    guard let text = after.first(where: { $0.hasPrefix("unordered ") }),
      let other = before.first(where: { $0 != "[]" }),
      !before.contains(where: { $0.contains("unordered ") })
    else { return }
    add(.resultChanged, "\(other)` became `\(text)", nil, nil)
  }

  /// Reports the errors of a function that says that it throws, and in which nothing can.
  private mutating func compareErrors(_ old: Version, _ new: Version) {
    guard new.function.throwsErrors, new.function.statements?.containsThrow == false,
      let path = old.unit.paths.first(where: { if case .error = $0.ending { true } else { false } })
    else { return }
    add(.errorSwallowed, path.ending.text, nil, nil)
  }

  /// Reports properties and parameters that the old version uses, and the new one nowhere: something
  /// no longer depends on them.
  private mutating func compareNames(_ old: Version, _ new: Version) {
    let parameters = Set(old.function.parameters.map(\.name))
      .intersection(new.function.parameters.map(\.name))
    let usesOwnType = new.usesOwnType
    let properties = old.members.used.filter { name in
      [old, new].allSatisfy { $0.program.declarations.declaresValue(name) }
        // An object that only the new version has can use it.
        && (old.declares(name) ? new.declares(name) && !usesOwnType : old.reads(name))
    }
    for name in old.members.names.intersection(parameters).union(properties).sorted() {
      guard !Self.results.contains(name), !new.members.words.contains(name[...]),
        !new.members.gains(name[...], over: old.members)
      else { continue }
      add(.resultChanged, name, nil, nil)
    }
  }

  /// The names with which the libraries describe results.
  private static let results: Set<String> = [
    "value", "result", "error", "promise", "resolver", "cancelled",
  ]

  private mutating func comparePairs(comparesLoops: Bool) {
    let samples = Dictionary(uniqueKeysWithValues: shared.map { ($0.number, ($0.old, $0.new)) })
    for (pair, before) in old.pairs.sorted(by: { $0.key < $1.key }) {
      guard let after = new.pairs[pair], let one = samples[pair.first],
        let two = samples[pair.second]
      else { continue }
      if before.order.count == 1, after.order.count == 1, let order = after.order.first,
        order != .none, !before.order.contains(order), !before.order.contains(.none),
        one.0.kind == .call || two.0.kind == .call, !one.0.isLog, !two.0.isLog
      {
        add(.orderChanged, "\(one.0.summary)` and `\(two.0.summary)", one.0, one.1)
      }
      guard comparesLoops, before.depths.count == 1, after.depths.count == 1,
        let was = before.depths.first,
        let now = after.depths.first
      else { continue }
      // What was repeated with something that is still repeated.
      if was.both > 0, was.difference == 0, now.difference != 0, now.both == 0 {
        let (first, second) = now.difference < 0 ? one : two
        add(.effectLost, "\(first.key)` each time", first, second)
      } else if was.both == 0, was.difference != 0, now.both > 0, now.difference == 0 {
        let (first, second) = was.difference < 0 ? one : two
        add(.effectRepeated, second.key, first, second)
      }
    }
  }
}

/// A path through a function, or through a closure that it passes on.
struct Trace {
  let path: Path
  /// The functions that get the closures around the path, with the loops around these.
  let context: [String]

  static func all(_ version: Version) -> [Trace] {
    var result: [Trace] = []
    var seen: Set<Int> = []
    func add(_ paths: [Path], _ context: [String]) {
      for path in paths { result.append(Trace(path: path, context: context)) }
      guard context.count < 3 else { return }
      for event in paths.flatMap(\.events) {
        for closure in event.closures {
          guard let body = closure.body, seen.insert(body.place.offset).inserted,
            let inner = version.paths(of: closure)
          else { continue }
          add(inner, context + event.loops + [event.baseName])
        }
      }
    }
    add(version.unit.paths, [])
    return result
  }
}

/// What holds on the paths of one version.
private struct Side {
  struct Answer: Hashable, Comparable {
    let question: String
    let holds: Bool

    static func < (first: Self, second: Self) -> Bool {
      (first.question, first.holds ? 1 : 0) < (second.question, second.holds ? 1 : 0)
    }
  }

  /// The paths with an answer.
  struct Answered {
    var count = 0
    var errors = 0
    var contexts: Set<[String]> = []
    /// On how many of these paths effects with a name happen, and one of them.
    var names: [String: (count: Int, event: Event)] = [:]

    mutating func add(_ trace: Trace, _ present: [String: Int]) {
      count += 1
      if case .error = trace.path.ending { errors += 1 }
      contexts.insert(trace.context)
      for (name, index) in present {
        names[name, default: (0, trace.path.events[index])].count += 1
      }
    }
  }

  struct Pair: Hashable, Comparable {
    let first: Int
    let second: Int

    static func < (one: Self, two: Self) -> Bool {
      (one.first, one.second) < (two.first, two.second)
    }
  }

  enum Order { case ascending, descending, none }

  /// In how many loops and closures both effects of a pair are, and the first one more than the second.
  struct Depth: Hashable {
    let both: Int
    let difference: Int
  }

  private(set) var samples: [Int: Event] = [:]
  private(set) var executors: [Int: Set<Executor>] = [:]
  private(set) var contexts: [String: Set<[String]>] = [:]
  private(set) var pauses: [Event] = []
  /// The effects with a name, by their constant arguments.
  private(set) var constants: [String: [String: Event]] = [:]
  private(set) var answers: [Answer: Answered] = [:]
  private(set) var pairs: [Pair: (order: Set<Order>, depths: Set<Depth>)] = [:]

  init(_ traces: [Trace], _ numbers: [String: Int]) {
    /// The names of events by their texts, and whether these are types.
    var names: [String: (String, Bool)] = [:]
    var known: Set<String> = []
    for trace in traces where trace.path.ending != .crash {
      let path = trace.path
      let shared = path.events.compactMap { event in numbers[event.key].map { ($0, event) } }
      for (number, event) in shared {
        if samples[number] == nil { samples[number] = event }
        executors[number, default: []].insert(event.executor)
      }
      let strong = shared.filter(\.1.isStrong)
      if strong.count <= 40 { addPairs(strong, trace) }
      var present: [String: Int] = [:]
      for (index, event) in path.events.enumerated() {
        let (name, isType) =
          names[event.key] ?? (event.name, event.baseName.first?.isUppercase == true)
        names[event.key] = (name, isType)
        if event.isStrong, known.insert(event.key).inserted { add(event, isType) }
        if !isType, present[name] == nil { present[name] = index }
      }
      for name in present.keys { contexts[name, default: []].insert(trace.context) }
      // What happens together with an effect is compared like what happens after an answer.
      let effects = strong.map { ("after: \($0.1.key)", true) }
      for (question, holds) in Array(path.decisions) + effects {
        var name = question
        if question.hasPrefix("fails: "), let number = numbers[String(question.dropFirst(7))] {
          name = "fails: \(number)"
        }
        answers[Answer(question: name, holds: holds), default: Answered()].add(trace, present)
      }
    }
  }

  /// Adds an event that happens on no path before.
  private mutating func add(_ event: Event, _ isType: Bool) {
    guard event.kind == .call else { return }
    if event.subject == "sleep" {
      pauses.append(event)
    } else if !isType {
      constants[event.name, default: [:]][event.constants] = event
    }
  }

  private mutating func addPairs(_ events: [(Int, Event)], _ trace: Trace) {
    for (index, (one, earlier)) in events.enumerated() {
      for (two, later) in events.dropFirst(index + 1) where one != two {
        let pair = one < two ? Pair(first: one, second: two) : Pair(first: two, second: one)
        let hasOrder = earlier.list == later.list && !trace.path.isInProgress(earlier, at: later)
        let order: Order = hasOrder ? (one < two ? .ascending : .descending) : .none
        let depth = trace.context.count
        let depths = (earlier.loops.count + depth, later.loops.count + depth)
        let difference = one < two ? depths.0 - depths.1 : depths.1 - depths.0
        pairs[pair, default: ([], [])].order.insert(order)
        pairs[pair, default: ([], [])].depths.insert(
          Depth(both: min(depths.0, depths.1), difference: difference.signum()))
      }
    }
  }
}

extension Path {
  /// The calls that fail on the path.
  var failures: Set<String> {
    Set(
      decisions.filter { $0.value && $0.key.hasPrefix("fails: ") }.map {
        String($0.key.dropFirst(7))
      })
  }

  /// Whether the path sets a property after a call; nil if it doesn't make the call.
  fileprivate func sets(_ property: Event, after call: Event) -> Bool? {
    guard let start = events.firstIndex(where: { $0.key == call.key }) else { return nil }
    return events[start...].contains { $0.kind == .set && $0.key == property.key }
  }
}

extension Event {
  /// Whether a constant is assigned, as what ends a piece of work does.
  fileprivate var isFinal: Bool { !constants.isEmpty || values.hasPrefix(".") }

  /// How long a pause is, if that is a number.
  fileprivate var seconds: Double? { Double(values) }

  /// The arguments, if these are only numbers, `true`, `false`, and `nil`.
  fileprivate var constants: String {
    values.split(whereSeparator: Words.separates).allSatisfy {
      $0.first?.isNumber == true || ["true", "false", "nil"].contains($0)
    } ? values : ""
  }

  /// The kind and the name, without a receiver and arguments.
  fileprivate var name: String { "\(kind) \(baseName)" }
}
