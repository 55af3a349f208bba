import Foundation
import SwiftSyntax

/// Compares two versions of a program.
public final class Checker {
  private let old: Program
  private let new: Program
  /// The types that exist in one version only.
  private let oldTypes: Set<String>
  private let newTypes: Set<String>
  private var findings = FindingCollector()
  /// The closures that are being compared, or have been.
  private var compared: Set<String> = []

  /// Creates a checker for two versions of a tree.
  public init(old: SourceTree, new: SourceTree) {
    self.old = Program(old)
    self.new = Program(new)
    let types = (Set(self.old.declarations.types.keys), Set(self.new.declarations.types.keys))
    oldTypes = types.0.subtracting(types.1)
    newTypes = types.1.subtracting(types.0)
  }

  /// Returns the differences in effects, sorted by place.
  public func run() -> [Finding] {
    let oldGroups = Dictionary(grouping: old.declarations.functions, by: \.identity)
    var newGroups = Dictionary(grouping: new.declarations.functions, by: \.identity)
    matchChangedParameters(oldGroups, &newGroups)
    let oldOnly = inlinable(old, oldGroups.filter { newGroups[$0.key] == nil })
    let newOnly = inlinable(new, newGroups.filter { oldGroups[$0.key] == nil })
    for (identity, functions) in oldGroups.sorted(by: { $0.key < $1.key }) {
      let candidates = newGroups[identity] ?? []
      for (index, function) in functions.enumerated() {
        let matches =
          functions.count == 1
          ? candidates : candidates.count == functions.count ? [candidates[index]] : candidates
        if matches.isEmpty {
          noteLost(function, oldOnly, newOnly)
        }
        for match in matches where match.statements != nil {
          compare(function, match, among: matches, oldOnly, newOnly)
        }
      }
    }
    return findings.all.sorted {
      ($0.new?.file.path ?? $0.old?.file.path ?? "", $0.new?.offset ?? $0.old?.offset ?? 0)
        < ($1.new?.file.path ?? $1.old?.file.path ?? "", $1.new?.offset ?? $1.old?.offset ?? 0)
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
        $0.name != "init"
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
          functions.filter({ $0.owner == function.owner }).count == 1,
          let body = program.body(of: function)
        else { continue }
        result[function.qualifiedName] = (function, body)
        if functions.count == 1 { result[name] = (function, body) }
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

  // MARK: Functions

  private func compare(
    _ before: FunctionDeclaration, _ after: FunctionDeclaration,
    among matches: [FunctionDeclaration], _ oldOnly: Inlined,
    _ newOnly: Inlined
  ) {
    guard let statements = before.statements, let others = after.statements else { return }
    // Files that both versions share have one tree.
    if statements.id == others.id || statements.trimmedDescription == others.trimmedDescription,
      before.isAsync == after.isAsync,
      startExecutor(of: before, old.declarations) == startExecutor(of: after, new.declarations)
    {
      return
    }
    // A function that forwards to its `async` twin, or the reverse, has the twin's effects.
    var newOnly = newOnly
    for twin in matches where twin !== after && twin.isAsync != after.isAsync {
      if let body = new.body(of: twin) {
        (newOnly[twin.name], newOnly[twin.qualifiedName]) = ((twin, body), (twin, body))
      }
    }
    let written = old.writtenMembers(of: before, oldOnly)
    let members = new.writtenMembers(of: after, newOnly)
    // Each doubles the number of paths.
    let followsFallbacks = max(written.fallbacks, members.fallbacks) <= 5
    let oldReading = Reading(
      inlined: oldOnly, impliedTypes: written.impliedTypes(from: members),
      ownTypes: oldTypes,
      followsFallbacks: followsFallbacks)
    let newReading = Reading(
      inlined: newOnly, impliedTypes: members.impliedTypes(from: written),
      ownTypes: newTypes,
      followsFallbacks: followsFallbacks)
    guard let first = old.unit(before, oldReading), let second = new.unit(after, newReading)
    else { return }
    compare(first, second, oldReading, newReading, (written.names, members.names))
  }

  private func compare(
    _ first: Unit, _ second: Unit, _ oldReading: Reading, _ newReading: Reading,
    _ names: (old: Set<String>, new: Set<String>)
  ) {
    var (first, second) = (first, second)
    if first.isLinear != second.isLinear {
      if !first.isLinear {
        first = old.unit(first.function, oldReading, isLinear: true) ?? first
      } else {
        second = new.unit(second.function, newReading, isLinear: true) ?? second
      }
    }
    let name = first.function.fullName
    findings.parameters = first.body.parameters
    findings.declaration = second.function.place
    let isVague = (first.paths + second.paths).contains(where: \.isVague)
    let closures: (Event, Event) -> Void = { [self] before, after in
      if !isVague { compareClosures(before, after, first, second, oldReading, newReading) }
    }
    func comparison() -> Comparison {
      Comparison(
        old: first.paths, new: second.paths,
        isFireAndForget: !first.function.type.isThenable && second.function.isAsync
          && !first.function.isAsync,
        compareClosures: closures)
    }
    var differences = comparison().run()
    if differences == nil {
      first = old.unit(first.function, oldReading, isLinear: true) ?? first
      second = new.unit(second.function, newReading, isLinear: true) ?? second
      differences = comparison().run()
    }
    let (before, after) = (first.function, second.function)
    let becameLoop = before.callsItself != after.callsItself && (before.hasLoop || after.hasLoop)
    if isVague || becameLoop, let all = differences {
      differences = all.filter { $0.0.isAbsence(names, at: $0.1.new, in: after) }
      if all.count != differences?.count {
        let cause =
          isVague
          ? "runs closures in a way that isn't followed, such as a race"
          : "called itself and has a loop now, or the reverse"
        findings.add(
          .undecided, "", name,
          "`\(name)` \(cause): only which calls it contains was compared.", old: before.place,
          new: after.place)
      }
    }
    if first.isLinear, !(differences ?? []).isEmpty {
      findings.add(
        .undecided, "", name,
        "`\(name)` has too many paths: its effects were compared without their conditions.",
        old: first.function.place, new: second.function.place)
    }
    findings.add(differences ?? [], name, first.function.place, second.function.place)
  }

  private func compareClosures(
    _ before: Event, _ after: Event, _ first: Unit, _ second: Unit,
    _ oldReading: Reading, _ newReading: Reading
  ) {
    for (one, two) in zip(before.closures, after.closures) {
      guard let oldBody = one.body, let newBody = two.body else {
        if one.body == nil, let paths = new.paths(of: two, in: second, newReading) {
          checkResumption([], paths, first.function.fullName, two.body?.place)
        }
        continue
      }
      let key =
        "\(oldBody.place.description)|\(oldBody.place.offset)|\(newBody.place.description)|\(newBody.place.offset)"
      guard compared.insert(key).inserted else { continue }
      guard var oldPaths = old.paths(of: one, in: first, oldReading),
        var newPaths = new.paths(of: two, in: second, newReading)
      else { continue }
      if (oldPaths + newPaths).contains(where: \.isVague) { continue }
      let (oldIsPromise, newIsPromise) =
        (oldBody.returnsPromise(oldPaths), newBody.returnsPromise(newPaths))
      if oldIsPromise != newIsPromise {
        // A promise of which the other version returns nothing isn't used.
        if newPaths.returnNothing, oldBody.writtenResult == nil {
          oldPaths = oldPaths.withoutValues
        } else if oldPaths.returnNothing, newBody.writtenResult == nil {
          newPaths = newPaths.withoutValues
        } else if oldIsPromise {
          oldPaths =
            old.paths(of: one, in: first, oldReading, settles: true) ?? oldPaths
        } else {
          newPaths =
            new.paths(of: two, in: second, newReading, settles: true) ?? newPaths
        }
      }
      checkResumption(oldPaths, newPaths, first.function.fullName, newBody.place)
      let comparison = Comparison(
        old: oldPaths, new: newPaths, isFireAndForget: false,
        compareClosures: { [self] in
          compareClosures($0, $1, first, second, oldReading, newReading)
        })
      findings.add(comparison.run() ?? [], first.function.fullName, oldBody.place, newBody.place)
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

extension Comparison.Difference {
  /// Whether a version doesn't contain the name of what the other one does in this place at all.
  fileprivate func isAbsence(
    _ names: (old: Set<String>, new: Set<String>), at place: Place?,
    in function: FunctionDeclaration
  ) -> Bool {
    let name =
      detail.prefix { !"( ".contains($0) }.split(separator: ".").last.map(String.init) ?? ""
    if name == function.name
      || Library.allCases.contains(where: { Operators.role(name, $0) != nil })
      || ["race", "any", "retry", "when", "all", "sleep"].contains(name)
    {
      return false
    }
    switch rule {
    case .crash: return true
    case .effectLost, .callReplaced: return !names.new.contains(name)
    case .effectAdded:
      let range = function.node.position.utf8Offset..<function.node.endPosition.utf8Offset
      return !names.old.contains(name) && place?.file === function.file && range.contains(newOffset)
    default: return false
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
  fileprivate var returnNothing: Bool { allSatisfy { $0.ending == .value("()") } }

  /// The same paths through a closure whose result isn't used.
  fileprivate var withoutValues: [Path] {
    map { path in
      var path = path
      if case .value = path.ending { path.ending = .value("()") }
      return path
    }
  }
}
