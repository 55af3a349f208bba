import Foundation
import SwiftSyntax

/// Compares two versions of a program.
public final class Checker {
  private let old: Program
  private let new: Program
  /// The types that exist in one version only.
  private let oldTypes: Set<String>
  private let newTypes: Set<String>
  /// The names that functions and types of the old version have in the new one.
  private var newNames: [String: String] = [:]
  /// The functions that got a promise, and get a closure with the work now.
  private var takesWork: Set<String> = []
  /// The new version's functions that try work again, if the library's `retry` is in the old one.
  private let retries: Set<String>
  private var findings = FindingCollector()
  /// The closures that are being compared, or have been.
  private var compared: Set<String> = []

  /// Creates a checker for two versions of a tree.
  public init(old: SourceTree, new: SourceTree) {
    self.old = Program(old)
    self.new = Program(new)
    let types = (self.old.declarations.typeNames, self.new.declarations.typeNames)
    oldTypes = types.0.subtracting(types.1)
    newTypes = types.1.subtracting(types.0)
    let hasOwnRetry = self.old.declarations.byName["retry"] != nil
    retries = Set(
      self.new.declarations.byName.filter { !hasOwnRetry && $1.contains(where: \.triesAgain) }.keys)
    takesWork = Set(
      self.old.declarations.byName.filter { name, functions in
        functions.contains { $0.parameters.contains { guessType($0.type).isThenable } }
          && self.new.declarations.byName[name, default: []].contains(where: \.takesWork)
      }.keys)
  }

  /// Returns the differences in effects, sorted by place.
  public func run() -> [Finding] {
    let oldGroups = Dictionary(grouping: old.declarations.functions, by: \.identity)
    var newGroups = Dictionary(grouping: new.declarations.functions, by: \.identity)
    matchRenamedTypes()
    matchChangedParameters(oldGroups, &newGroups)
    for (identity, functions) in oldGroups {
      guard let name = functions.first?.name, let other = newGroups[identity]?.first?.name,
        name != other, new.declarations.byName[name] == nil
      else { continue }
      newNames[name] = other
    }
    let oldOnly = inlinable(old, oldGroups.filter { newGroups[$0.key] == nil })
    let newOnly = inlinable(new, newGroups.filter { oldGroups[$0.key] == nil })
    for (identity, functions) in oldGroups.sorted(by: { $0.key < $1.key }) {
      let candidates = newGroups[identity] ?? []
      for (index, function) in functions.enumerated() where !function.file.isTest {
        let matches =
          functions.count == 1
          ? candidates : candidates.count == functions.count ? [candidates[index]] : candidates
        if matches.isEmpty {
          noteLost(function, oldOnly, newOnly)
        }
        for match in matches where match.statements != nil {
          compare(
            function, match, adding(functions, of: old, to: oldOnly, besides: function),
            adding(candidates, of: new, to: newOnly, besides: match))
        }
      }
    }
    // Functions that only the new version has, and that no other one was compared with.
    for function in newGroups.filter({ oldGroups[$0.key] == nil }).values.joined()
    where !function.file.isTest {
      findings.declaration = function.place
      reportTraps(of: function, nil)
    }
    return findings.all.sorted {
      ($0.new?.file.path ?? $0.old?.file.path ?? "", $0.new?.offset ?? $0.old?.offset ?? 0)
        < ($1.new?.file.path ?? $1.old?.file.path ?? "", $1.new?.offset ?? $1.old?.offset ?? 0)
    }
  }

  /// Finds the enumerations of which only the name has changed.
  private func matchRenamedTypes() {
    let (before, after) = (old.declarations.types, new.declarations.types)
    for (name, type) in before where after[name] == nil && !type.cases.isEmpty {
      let matches = after.filter { before[$0.key] == nil && $0.value.cases == type.cases }
      guard matches.count == 1, let match = matches.first?.key else { continue }
      newNames[name.lastName] = match.lastName
    }
  }

  /// Gives functions whose parameters have changed the identities that they had.
  private func matchChangedParameters(
    _ old: [String: [FunctionDeclaration]], _ new: inout [String: [FunctionDeclaration]]
  ) {
    func only(
      _ groups: [String: [FunctionDeclaration]], _ others: [String: [FunctionDeclaration]]
    ) -> [String: FunctionDeclaration] {
      let left = groups.filter { others[$0.key] == nil }.values.joined().filter {
        $0.name != "init" && !$0.isLocal
      }
      return Dictionary(grouping: left, by: \.qualifiedName)
        .compactMapValues { $0.count == 1 ? $0[0] : nil }
    }
    let candidates = only(new, old)
    for (name, function) in only(old, new) {
      guard let match = candidates[name] else { continue }
      new[match.identity] = nil
      new[function.identity] = [match]
    }
  }

  /// The functions that exist in one version only, by their type and name, and by the name alone if
  /// it's unique; and operators that the tree adds to promises.
  private func inlinable(_ program: Program, _ own: [String: [FunctionDeclaration]]) -> Inlined {
    var result: Inlined = [:]
    for (name, functions) in program.declarations.byName {
      for function in functions {
        let isOnly = own[function.identity] != nil
        guard isOnly || functions.count == 1 && function.isOperator,
          !function.isLocal,
          functions.filter({ $0.owner == function.owner && !$0.isLocal }).count == 1,
          let body = program.body(of: function)
        else { continue }
        result[function.qualifiedName] = (function, body)
        let short = "\(Declarations.contained(function.owner)).\(name)"
        if result[short] == nil { result[short] = (function, body) }
        if functions.count(where: { !$0.isLocal }) == 1 { result[name] = (function, body) }
      }
    }
    return result
  }

  private func noteLost(
    _ function: FunctionDeclaration, _ oldOnly: Inlined,
    _ newOnly: Inlined
  ) {
    let isFollowed = oldOnly[function.qualifiedName] != nil
    guard function.type.isThenable || function.isAsync, !isFollowed else { return }
    findings.add(
      .functionLost, "", function.fullName,
      "`\(function.fullName)` has no counterpart: it was removed, renamed, or moved to another type.",
      old: function.place, new: nil)
  }

  /// The functions whose calls are followed, with a function's twin: one that forwards to its `async`
  /// twin, or the reverse, has the twin's effects.
  private func adding(
    _ functions: [FunctionDeclaration], of program: Program, to inlined: Inlined,
    besides function: FunctionDeclaration
  ) -> Inlined {
    var result = inlined
    for twin in functions where twin !== function && twin.isAsync != function.isAsync {
      guard let body = program.body(of: twin) else { continue }
      (result[twin.name], result[twin.qualifiedName]) = ((twin, body), (twin, body))
    }
    return result
  }

  // MARK: Functions

  private func compare(
    _ before: FunctionDeclaration, _ after: FunctionDeclaration, _ oldOnly: Inlined,
    _ newOnly: Inlined
  ) {
    guard let statements = before.statements, let others = after.statements else { return }
    // Files that both versions share have one tree.
    if statements.id == others.id || statements.hasSameCode(as: others),
      before.isAsync == after.isAsync,
      startExecutor(of: before, old.declarations) == startExecutor(of: after, new.declarations)
    {
      return
    }
    findings.declaration = after.place
    reportTraps(of: after, before)
    // How they limit the time of work doesn't matter.
    if before.timeLimit != nil, after.timeLimit != nil { return }
    guard var result = comparison(before, after, oldOnly, newOnly) else { return }
    if !result.judgment.isEmpty {
      // A function that only one version calls is followed, if then less differs.
      let (oldMore, newMore) = following(before, after, oldOnly, newOnly)
      if oldMore.count > oldOnly.count || newMore.count > newOnly.count,
        let other = comparison(before, after, oldMore, newMore),
        other.judgment.count < result.judgment.count
      {
        result = other
      }
    }
    findings.parameters =
      result.old.unit.body.parameters + result.new.unit.body.parameters
    findings.add(result.judgment, before.fullName, before.place, after.place)
    for (one, two) in result.closures { compareClosures(one, two, result.old, result.new) }
  }

  /// Reports the traps of `async` code that a function is in, and that its old version wasn't in.
  private func reportTraps(of after: FunctionDeclaration, _ before: FunctionDeclaration?) {
    let known = Set(before.map { Trap.all(in: $0, old.declarations).map(\.message) } ?? [])
    for trap in Trap.all(in: after, new.declarations) where !known.contains(trap.message) {
      findings.add(
        trap.rule, "", (before ?? after).fullName, trap.message, old: nil, new: trap.place)
    }
  }

  private func comparison(
    _ before: FunctionDeclaration, _ after: FunctionDeclaration, _ oldInlined: Inlined,
    _ newInlined: Inlined
  ) -> FunctionComparison? {
    let written = old.writtenMembers(of: before, oldInlined)
    let members = new.writtenMembers(of: after, newInlined)
    let retries = retries(written)
    // Each doubles the number of paths.
    let followsFallbacks = max(written.fallbacks, members.fallbacks) <= 5
    let oldReading = Reading(
      inlined: oldInlined, impliedTypes: written.impliedTypes(from: members), ownTypes: oldTypes,
      followsFallbacks: followsFallbacks,
      newNames: newNames.merging(newProperties(before.owner, after.owner)) { $1 },
      returnedParameter: old.returnedParameter,
      retries: retries?.old,
      otherProperties: properties(new, after.owner, newTypes),
      otherLocks: members.words.contains("lock"))
    let newReading = Reading(
      inlined: newInlined, impliedTypes: members.impliedTypes(from: written), ownTypes: newTypes,
      followsFallbacks: followsFallbacks, returnedParameter: new.returnedParameter,
      takesWork: takesWork, parameters: parameters(of: after, before),
      retries: retries?.new,
      otherProperties: properties(old, before.owner, oldTypes),
      otherLocks: written.words.contains("lock"))
    guard let first = Version(old, before, oldReading, written),
      let second = Version(new, after, newReading, members)
    else { return nil }
    return FunctionComparison(first, second)
  }

  /// What tries work again in both versions of a function, if it's the library's `retry` in the old one.
  private func retries(_ written: WrittenMembers) -> (old: Retries, new: Retries)? {
    guard written.words.contains("retry") else { return nil }
    let names = retries.filter { $0 == "retry" || !written.words.contains($0[...]) }
    if names.isEmpty { return nil }
    let keepsName = names.contains("retry")
    let keepsCondition = keepsName && (new.declarations.byName["retry"] ?? []).askAsLibrary
    func side(_ names: Set<String>) -> Retries {
      Retries(names: names, hasSameName: keepsName, hasSameCondition: keepsCondition)
    }
    return (side(["retry"]), side(names))
  }

  /// The descriptions of a function's parameters in its old version: parameters have the same name or
  /// label, and one that is new can be what a property was.
  private func parameters(
    of function: FunctionDeclaration, _ before: FunctionDeclaration
  ) -> [Int: String] {
    guard function.labels != before.labels else { return [:] }
    let (names, oldNames) = (function.parameters.map(\.name), before.parameters.map(\.name))
    let properties = old.declarations.properties(of: before.owner)
    var open = Array(oldNames.indices)
    var result: [Int: String] = [:]
    for index in names.indices {
      let label = function.labels[index]
      let match =
        open.firstIndex { oldNames[$0] == names[index] }
        ?? open.firstIndex { label != "_" && before.labels[$0] == label }
      if let match { result[index] = "parameter \(open.remove(at: match))" }
    }
    for index in names.indices where result[index] == nil {
      if properties[names[index]] != nil {
        result[index] = names[index]
      } else if open.contains(index), names.count == oldNames.count {
        result[index] = "parameter \(index)"
      } else {
        result[index] = "parameter \(oldNames.count + index)"
      }
    }
    return result
  }

  /// The properties of a type, and those of its objects whose types only this version has.
  private func properties(
    _ program: Program, _ owner: String, _ ownTypes: Set<String>
  ) -> Set<String> {
    let direct = program.declarations.properties(of: owner)
    let objects = direct.values.map { String($0.prefix(while: CaseName.isWord)) }
      .filter(ownTypes.contains)
    return objects.reduce(into: Set(direct.keys)) {
      $0.formUnion(program.declarations.properties(of: $1).keys)
    }
  }

  /// The names that properties of a type have in its new version: those that are the only ones of
  /// their types which only one version has.
  private func newProperties(_ before: String, _ after: String) -> [String: String] {
    let (first, second) = (
      old.declarations.properties(of: before), new.declarations.properties(of: after)
    )
    func byType(_ own: [String: String], _ other: [String: String]) -> [String: [String]] {
      Dictionary(grouping: own.keys.filter { other[$0] == nil }) { own[$0] ?? "" }
    }
    let candidates = byType(second, first)
    return byType(first, second).reduce(into: [:]) { names, group in
      if group.value.count == 1, let others = candidates[group.key], others.count == 1 {
        names[group.value[0]] = others[0]
      }
    }
  }

  /// The functions whose calls are followed, with those that only one version calls here.
  private func following(
    _ before: FunctionDeclaration, _ after: FunctionDeclaration, _ oldOnly: Inlined,
    _ newOnly: Inlined
  ) -> (old: Inlined, new: Inlined) {
    var (oldMore, newMore) = (oldOnly, newOnly)
    for _ in 0..<4 {
      let names = old.writtenMembers(of: before, oldMore).names
      let others = new.writtenMembers(of: after, newMore).names
      let counts = (oldMore.count, newMore.count)
      // What a followed function calls, the other version can call, too.
      (oldMore, newMore) = (oldOnly, newOnly)
      add(names.subtracting(others), of: before, in: old, to: &oldMore)
      add(others.subtracting(names), of: after, in: new, to: &newMore)
      if counts == (oldMore.count, newMore.count) { break }
    }
    return (oldMore, newMore)
  }

  /// Adds the functions with names that a function can call, if there is one for each.
  private func add(
    _ names: Set<String>, of function: FunctionDeclaration, in program: Program,
    to inlined: inout Inlined
  ) {
    for name in names {
      let all = program.declarations.byName[name] ?? []
      let own = all.filter { $0.owner == function.owner && $0 !== function && !$0.isLocal }
      guard own.count == 1, let body = program.body(of: own[0]) else { continue }
      inlined[own[0].qualifiedName] = (own[0], body)
    }
  }

  private func compareClosures(
    _ before: Event, _ after: Event, _ first: Version, _ second: Version
  ) {
    for (one, two) in zip(before.closures, after.closures) {
      let name = first.function.fullName
      guard let oldBody = one.body, let newBody = two.body else {
        if one.body == nil, let paths = second.paths(of: two) {
          checkResumption([], paths, name, two.body?.place)
        }
        continue
      }
      let key =
        "\(oldBody.place.description)|\(oldBody.place.offset)|\(newBody.place.description)|\(newBody.place.offset)"
      guard compared.insert(key).inserted, var oldPaths = first.paths(of: one),
        var newPaths = second.paths(of: two)
      else { continue }
      if (oldPaths + newPaths).contains(where: \.isVague) { continue }
      let (oldIsPromise, newIsPromise) =
        (oldBody.returnsPromise(oldPaths), newBody.returnsPromise(newPaths))
      if oldIsPromise != newIsPromise {
        // A promise of which the other version returns nothing isn't used.
        if newPaths.onlyEnd, oldBody.writtenResult == nil {
          oldPaths = oldPaths.withoutValues
        } else if oldPaths.onlyEnd, newBody.writtenResult == nil {
          newPaths = newPaths.withoutValues
        } else if oldIsPromise {
          oldPaths = first.paths(of: one, settles: true) ?? oldPaths
        } else {
          newPaths = second.paths(of: two, settles: true) ?? newPaths
        }
      }
      let takers = (before.baseName, after.baseName)
      if old.declarations.takesVoidClosure(takers.0), new.declarations.takesVoidClosure(takers.1) {
        (oldPaths, newPaths) = (oldPaths.withoutValues, newPaths.withoutValues)
      }
      // Without a result, the call has none that could be used.
      if oldPaths.returnNothing != newPaths.returnNothing {
        (oldPaths, newPaths) = (oldPaths.withoutValues, newPaths.withoutValues)
      }
      checkResumption(oldPaths, newPaths, name, newBody.place)
      let stored = first.otherwiseStored(second)
      // A function that took a callback perhaps takes a closure with a result now.
      let settles = [oldPaths, newPaths].map { paths in
        paths.contains { $0.events.contains { $0.kind == .settle } }
      }
      let result = Comparison(
        old: first.without(stored, oldPaths), new: second.without(stored, newPaths),
        isFireAndForget: false
      ).run()
      let judgment = Judgment(
        result?.divergences ?? [], first, second,
        followsPaths: !first.unit.isLinear && settles[0] == settles[1],
        isSure: !(oldPaths + newPaths).contains(where: \.hasOwnObjects))
      findings.add(judgment, name, oldBody.place, newBody.place)
      for (one, two) in result?.closures ?? [] { compareClosures(one, two, first, second) }
    }
  }

  /// Reports paths of a callback on which a continuation is resumed twice or not at all.
  private func checkResumption(
    _ old: [Path], _ new: [Path], _ function: String, _ place: Place?
  ) {
    let counts = new.map { path in
      path.events.filter { $0.isContinuation }
    }
    guard counts.contains(where: { !$0.isEmpty }) else { return }
    if let twice = counts.first(where: { $0.count > 1 }) {
      findings.add(
        .resumedTwice, twice[1].key, function,
        "The continuation is resumed a second time on a path that has resumed it before.",
        old: nil, new: twice[1].place)
    }
    let oldMisses = old.contains { path in !path.events.contains { $0.kind == .settle } }
    if counts.contains(where: \.isEmpty), !oldMisses {
      findings.add(
        .neverResumed, "", function,
        "On a path through this callback, the continuation isn't resumed.", old: nil, new: place)
    }
  }
}

extension SyntaxProtocol {
  /// Whether this differs from other code in comments and spaces at most.
  fileprivate func hasSameCode(as other: some SyntaxProtocol) -> Bool {
    let tokens = (tokens(viewMode: .sourceAccurate), other.tokens(viewMode: .sourceAccurate))
    return tokens.0.elementsEqual(tokens.1) { first, second in
      first.tokenKind == second.tokenKind
        && first.leadingTrivia.contains(where: \.isNewline)
          == second.leadingTrivia.contains(where: \.isNewline)
    }
  }
}

extension Body {
  /// Whether a closure with these paths returns a promise.
  fileprivate func returnsPromise(_ paths: [Path]) -> Bool {
    writtenResult.map { guessType($0).isThenable }
      ?? paths.contains { $0.ending == .value(Value.promise(0).text) }
  }
}

extension [Path] {
  /// Whether all paths end without a value, and without an error.
  fileprivate var onlyEnd: Bool { allSatisfy { $0.ending == .value("()") } }

  /// Whether no path ends with a value.
  fileprivate var returnNothing: Bool {
    let values = compactMap { if case .value(let text) = $0.ending { text } else { nil } }
    return !values.isEmpty && values.allSatisfy { $0 == "()" }
  }

  /// The same paths through a closure whose result isn't used.
  fileprivate var withoutValues: [Path] {
    map { path in
      var path = path
      if case .value = path.ending { path.ending = .value("()") }
      return path
    }
  }
}
