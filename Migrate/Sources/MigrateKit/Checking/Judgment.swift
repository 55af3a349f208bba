/// Which differences between two versions of a function are certain.
///
/// The paths tell what differs, if both versions ask the same questions and describe what they do in
/// the same words. Where they don't, only what a version doesn't mention at all is certain.
struct Judgment {
  /// The differences to report.
  private(set) var certain: [Divergence] = []
  /// The first difference of which it isn't certain that it is one, and how many there are.
  private(set) var undecided: Divergence?
  private(set) var undecidedCount = 0

  /// The maximum number of independent differences between versions of the same code.
  private static let limit = 3

  /// How many places differ.
  private(set) var count = 0
  var isEmpty: Bool { count == 0 }

  init(
    _ divergences: [Divergence], _ old: Version, _ new: Version, followsPaths: Bool, isSure: Bool
  ) {
    var open: [Divergence] = []
    let logs = divergences.filter(\.isLog)
    let divergences = divergences.map { divergence in
      var divergence = divergence.withIsolation(old, new)
      // Another function writes to the log.
      if divergence.isLog, divergence.isReplaced(in: logs) {
        divergence.isHarmless = true
      }
      return divergence
    }
    let stored = old.otherwiseStored(new).union(old.otherwiseDeclared(new))
    let named = divergences.filter {
      $0.isNamed(old, new) && !$0.dependsOn(stored, old, new)
    }
    let isNamed = Set(named.map(\.difference))
    for divergence in divergences {
      let difference = divergence.difference
      let isForgotten = divergence.isForgotten(in: new) && !divergence.isReplaced(in: divergences)
      if difference.rule == .crash {
        certain.append(divergence)
      } else if difference.weight == 1 || difference.isCancelled || divergence.isMinor {
        if followsPaths { certain.append(divergence) }
      } else if isForgotten && followsPaths {
        certain.append(divergence)
      } else if isNamed.contains(difference), !divergence.isPartial,
        !divergence.isReplaced(in: named)
      {
        certain.append(divergence)
      } else {
        open.append(divergence)
      }
    }
    lazy var inClosures = (old: old.effectsInClosures, new: new.effectsInClosures)
    var roots = open.filter {
      $0.isFirst && $0.isCertain && !$0.isOfChangedFunction(old, new)
        && !$0.dependsOn(stored, old, new) && !$0.isPartial
        && !$0.isElsewhere(old, new) { inClosures }
    }
    let limit = isSure ? Self.limit : 1
    let isReplaced = roots.contains { !$0.isClosed && $0.isReplaced(in: open) }
    let causes = Set(roots.map(\.difference.site))
    let first = (roots.isEmpty ? open : roots).min { $0.occurrence.time < $1.occurrence.time }
    // Versions that differ on other paths, too, do the same in another way there, and perhaps here.
    let paths = roots.reduce(into: Set<Int>()) { $0.formUnion($1.pairs) }
    let places = Set(roots.map(\.difference.oldOffset)).subtracting([-1])
    let isAlone = open.allSatisfy {
      places.contains($0.difference.oldOffset) || causes.contains($0.difference.site)
        || !paths.isDisjoint(with: $0.pairs)
    }
    if followsPaths, !roots.isEmpty, causes.count <= limit, !isReplaced, isAlone {
      roots.sort { $0.occurrence.time < $1.occurrence.time }
      roots[0].followers = Set(open.map(\.difference.site)).subtracting(causes).count
      certain += roots
    } else if let first {
      undecided = first
      undecidedCount = Set(open.map(\.difference.site)).count
    }
    count = Set((certain.filter { $0.difference.weight > 1 } + open).map(\.difference.site)).count
    certain.sort { $0.difference < $1.difference }
  }

  /// Adds differences that are certain, whatever the paths are.
  mutating func add(_ others: [Divergence], _ old: Version, _ new: Version) {
    let known = Set(certain.map(\.difference.detail))
    let stored = old.otherwiseStored(new).union(old.otherwiseDeclared(new))
    certain += others.filter {
      !known.contains($0.difference.detail) && !$0.isOfCallback(old, new)
        && !$0.isInResult(old, new) && !$0.isUnderCallOfChangedFunction(old, new)
        && !$0.dependsOn(stored, old, new)
    }
    .map { $0.withIsolation(old, new) }
  }
}

extension Divergence {
  /// This divergence, with a note of whether other isolation protects the same.
  fileprivate func withIsolation(_ old: Version, _ new: Version) -> Divergence {
    if let qos = difference.detail.firstMatch(of: /the priority (\w+)\|/)?.1 {
      // The queue had it.
      var result = self
      result.isHarmless = old.function.file.syntax.description.contains("qos: .\(qos)")
      return result
    }
    let parts = difference.detail.components(separatedBy: " and now runs on ")
    guard difference.rule == .executorChanged, parts.count == 2,
      !parts[1].hasPrefix("the main thread")
    else { return self }
    let queue = parts[0].dropFirst("ran on the queue ".count).prefix(while: CaseName.isWord)
    var result = self
    result.isHarmless =
      parts[0].hasPrefix("ran on a background thread") && parts[1].hasPrefix("the actor ")
      || parts[0].hasPrefix("ran on the queue ") && !new.declares(String(queue))
      || new.owners.contains { parts[1].hasPrefix("the actor \($0)|") }
        && (occurrence.event.map(new.isIndependentOfThreads) ?? false)
    return result
  }

  /// Whether too little is known about what differs: for what a variable is set to, another value isn't
  /// a difference here.
  fileprivate var isPartial: Bool {
    guard let event = occurrence.event, event.kind == .set,
      [.effectLost, .effectAdded].contains(difference.rule)
    else { return Words.isPartial(difference.detail) }
    return Words.isPartial(event.subject)
  }

  /// Whether something is there in place of what is gone, or the reverse: it can do the same.
  fileprivate func isReplaced(in all: [Divergence]) -> Bool {
    let other: [Rule: Rule] = [.effectLost: .effectAdded, .effectAdded: .effectLost]
    return all.contains {
      $0.difference.rule == other[difference.rule]
        && abs($0.occurrence.time - occurrence.time) < 1.25
        && !Set($0.pairs).isDisjoint(with: pairs)
    }
  }

  /// Whether the other version does this in a closure of which it isn't known when it runs, or with
  /// what only one version declares.
  fileprivate func isElsewhere(
    _ old: Version, _ new: Version, _ inClosures: () -> (old: Set<String>, new: Set<String>)
  ) -> Bool {
    let error = "reject(\(difference.detail))"
    if difference.rule == .errorSwallowed, inClosures().new.contains(error) { return true }
    if difference.rule == .errorAdded, inClosures().old.contains(error) { return true }
    guard let event = occurrence.event else { return false }
    if isOfCompanion(old, new) { return true }
    if event.key.contains("Promise<") || event.key.contains("Guarantee<") { return true }
    let (own, other) = difference.rule == .effectLost ? (old, new) : (new, old)
    guard [.effectLost, .effectAdded].contains(difference.rule) else { return false }
    if event.kind == .set || isOfOwnClosure(own, other) {
      return own.declares(event.baseName) != other.declares(event.baseName)
    }
    let keys = inClosures()
    return (difference.rule == .effectLost ? keys.new : keys.old).contains(event.key)
  }

  /// Whether this is about a call of a closure in a property that the other version doesn't have: what
  /// listens to it does so in another way.
  private func isOfOwnClosure(_ own: Version, _ other: Version) -> Bool {
    guard let event = occurrence.event, event.kind == .call, event.receiver.isEmpty else {
      return false
    }
    return own.program.declarations.properties(of: own.function.owner)[event.baseName] != nil
      && !other.declares(event.baseName)
  }

  /// Whether this is about a call of a function with which the libraries' companions extend other types.
  private func isOfCompanion(_ old: Version, _ new: Version) -> Bool {
    guard let event = occurrence.event, event.kind == .call else { return false }
    return Declarations.companions.contains(event.baseName)
      && ![old, new].contains { $0.program.declarations.declares(event.baseName) }
  }

  /// Whether this is about a stored promise or continuation, which the versions store in other ways.
  fileprivate func dependsOn(_ stored: Set<String>, _ old: Version, _ new: Version) -> Bool {
    if difference.detail.contains("of callback "),
      !stored.isEmpty || old.unit.waitsForCallbacks != new.unit.waitsForCallbacks
    {
      return true
    }
    if stored.isEmpty { return false }
    return occurrence.event.map { $0.kind == .settle && $0.values == "stored" } ?? false
      || stored.contains { difference.detail.contains($0) }
  }

  /// Whether a promise was settled, and the new version doesn't settle or resume anything.
  fileprivate func isForgotten(in new: Version) -> Bool {
    guard difference.rule == .effectLost, occurrence.event?.kind == .settle else { return false }
    // An object of a type that only the new version has perhaps does it.
    return new.members.names.allSatisfy { name in
      !["resume", "fulfill", "reject", "resolve", "seal"].contains(name)
        && !(new.program.declarations.typeName(ofProperty: name).map(new.reading.isOwn) ?? false)
    }
  }

  /// Whether this is about the result of a function that gave it to a callback.
  fileprivate func isOfCallback(_ old: Version, _ new: Version) -> Bool {
    [.resultChanged, .errorAdded, .errorSwallowed].contains(difference.rule)
      && (new.function.isAsync || new.function.throwsErrors)
      && !(old.function.isAsync || old.function.throwsErrors || old.function.type.isThenable)
      && old.function.parameters.count > new.function.parameters.count
      && old.function.parameters.contains { $0.type.contains("->") }
  }

  /// Whether this is about a function that the versions declare in other ways: then other arguments or
  /// another use of its result can mean the same.
  fileprivate func isOfChangedFunction(_ old: Version, _ new: Version) -> Bool {
    let all = [old, new].map(\.program.declarations)
    if isOfCallback(old, new) || difference.parts.count == 2 && namesOwnType(old, new) {
      return true
    }
    if isUnderCallOfChangedFunction(old, new) || isOfLostParameter(old, new) { return true }
    switch difference.rule {
    case .conditionChanged:
      // The result of a closure that the function gets, and calls with something else.
      return difference.parts.allSatisfy { $0.hasPrefix("parameter ") && $0.contains("(") }
        && old.function.parameters.map(\.type.withoutPromises)
          != new.function.parameters.map(\.type.withoutPromises)
    case .effectLost, .effectAdded:
      // An own function with other parameters, or a parameter of another type.
      guard let event = occurrence.event, event.kind == .call else { return false }
      if event.isOfParameter {
        return old.function.parameters.map(\.type) != new.function.parameters.map(\.type)
      }
      let forms = Self.forms(of: event.subject, old, new)
      return forms[0] != forms[1]
    case .callReplaced:
      return difference.parts.contains { part in
        let call = part.prefix { $0 != "(" && $0 != " " }
        let name = String(call.split(separator: ".").last ?? "")
        return all[0].declares(name) != all[1].declares(name)
          || Declarations.companions.contains(name) && !all[0].declares(name)
      }
    case .resultChanged where old.function.returnsNothing != new.function.returnsNothing:
      return true
    case .errorSwallowed: return isInResult(old, new)
    case .argumentChanged, .resultChanged:
      // The result of a closure that isn't used, or one that says what an error said.
      let parts = difference.parts
      if occurrence.event?.kind == .settle, parts.allSatisfy({ $0.hasPrefix("fulfill(") }),
        parts.contains("fulfill(())")
      {
        return true
      }
      if parts.contains("()"), parts.contains(where: { $0.hasSuffix(")") && $0.count > 2 }) {
        return true
      }
      let names = Set(
        parts.flatMap { part in
          part.split(separator: "(").dropLast().map {
            String($0.reversed().prefix(while: CaseName.isWord).reversed())
          }
        })
      return names.contains { name in
        let forms = all.map { declarations in
          Set(
            (declarations.byName[name] ?? []).map {
              [$0.plainResult] + $0.labels + $0.parameters.map(\.type.withoutPromises)
            })
        }
        return forms[0] != forms[1] && !forms.contains(where: \.isEmpty)
      }
    default: return false
    }
  }

  /// Whether the result of the new version, which can be nil or an error, says so to the callers.
  fileprivate func isInResult(_ old: Version, _ new: Version) -> Bool {
    let results = [old, new].map(\.function.plainResult)
    return difference.rule == .errorSwallowed
      && (results[1].hasSuffix("?") && !results[0].hasSuffix("?")
        || results[1].hasPrefix("Result<") && !results[0].hasPrefix("Result<"))
  }

  /// Whether this depends on whether a function succeeds whose parameters the versions declare in other
  /// ways: then its success can mean something else.
  fileprivate func isUnderCallOfChangedFunction(_ old: Version, _ new: Version) -> Bool {
    guard let open = condition.firstIndex(of: "("), condition.hasSuffix("` succeeds") else {
      return false
    }
    let forms = Self.forms(of: String(condition[..<open].dropFirst()), old, new)
    return forms[0] != forms[1] && !forms.contains(where: \.isEmpty)
  }

  /// The labels with which each version's type declares functions with a name.
  private static func forms(of name: String, _ old: Version, _ new: Version) -> [Set<[String]>] {
    [old, new].map { version in
      Set(
        (version.program.declarations.byName[name] ?? [])
          .filter { $0.owner == version.function.owner }.map(\.labels))
    }
  }

  /// Whether this is about a parameter that the new version of the function doesn't have.
  private func isOfLostParameter(_ old: Version, _ new: Version) -> Bool {
    old.function.parameters.enumerated().contains { index, parameter in
      difference.parts[0] == "parameter \(index)"
        && !new.function.parameters.contains { $0.name == parameter.name }
    }
  }

  /// Whether a version describes this with an object of a type that only it has, which can do or contain
  /// the same.
  fileprivate func namesOwnType(_ old: Version, _ new: Version) -> Bool {
    let own = [old, new].map(\.reading.ownTypes)
    return difference.parts.contains { part in
      part.split(whereSeparator: Words.separates).contains { word in
        own.contains { $0.contains(String(word)) }
      }
    }
  }

  /// Whether a version doesn't mention at all what the other one does here.
  fileprivate func isNamed(_ old: Version, _ new: Version) -> Bool {
    let function = new.function
    func isAbsent(_ event: Event, from version: Version, _ this: Version) -> Bool {
      let name = event.baseName
      if isOfCompanion(old, new) { return false }
      if name == "addObserver", version.members.names.contains("notifications") { return false }
      if ["Promise<", "Guarantee<"].contains(where: event.key.contains) { return false }
      if event.isOfParameter || event.kind == .set && event.subject.contains("[") { return false }
      let (other, own) = (version.members, this.members)
      // What only one version declares is how it does what the other one does in another way.
      let names = [name, String(event.subject.prefix(while: CaseName.isWord))]
      guard
        names.allSatisfy({
          old.program.declarations.declares($0) == new.program.declarations.declares($0)
        })
      else { return false }
      if isOfOwnClosure(this, version) { return false }
      switch event.kind {
      case .set where this.declares(name) != version.declares(name): return false
      case .set: return !other.assigned.contains(name) && !other.gains(name[...], over: own)
      case .call where Self.helpers.contains(name[...]): return false
      // A function that calls itself can have become a loop.
      case .call where event.isOwn && this.isRecursive(name): return false
      case .call:
        return ([name[...]] + event.values.words(inLiterals: true)).contains {
          !other.words.contains($0) && !other.gains($0, over: own)
        }
      default: return false
      }
    }
    let parts = difference.parts
    switch difference.rule {
    case .effectLost:
      return occurrence.event.map { isAbsent($0, from: new, old) } ?? false
    case .effectAdded:
      let range = function.node.position.utf8Offset..<function.node.endPosition.utf8Offset
      return (occurrence.event.map { isAbsent($0, from: old, new) } ?? false)
        && occurrence.new?.file === function.file && range.contains(difference.newOffset)
    case .callReplaced, .argumentChanged, .resultChanged, .errorChanged:
      guard parts.count == 2, Words.shape(parts[0]) == Words.shape(parts[1]) else { return false }
      // Each version has a property of its own.
      let starts = parts.map { String($0.prefix(while: CaseName.isWord)) }
      if starts.contains(where: { old.declares($0) != new.declares($0) }) { return false }
      let words = parts.map { $0.words(inLiterals: false) }
      if words.contains(where: { !$0.isDisjoint(with: Self.helpers) }) { return false }
      return words[0].contains { !words[1].contains($0) && !new.members.words.contains($0) }
        && words[1].contains { !words[0].contains($0) && !old.members.words.contains($0) }
    default: return false
    }
  }

  /// Names with which code waits and combines.
  private static let helpers = Set<Substring>(
    [
      "race", "any", "retry", "when", "all", "sleep", "wait", "scheduledTimer", "invalidate",
      "AnyIterator",
    ]
      + Machine.publisherOperators.map { $0[...] })
}

extension String {
  /// The words of a description, or only those in its text literals.
  fileprivate func words(inLiterals: Bool) -> Set<Substring> {
    var result: Set<Substring> = []
    for part in inLiterals ? literals : split(separator: "\"") {
      for word in part.split(whereSeparator: Words.separates) where !word.contains("…") {
        result.insert(word)
      }
    }
    return result
  }
}
