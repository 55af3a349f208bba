import Foundation

/// A version of a function, and how it is read.
struct Version {
  let program: Program
  let function: FunctionDeclaration
  let reading: Reading
  let members: WrittenMembers
  private(set) var unit: Unit

  /// Nil if the function has no body.
  init?(
    _ program: Program, _ function: FunctionDeclaration, _ reading: Reading,
    _ members: WrittenMembers
  ) {
    guard let unit = program.unit(function, reading) else { return nil }
    self.program = program
    self.function = function
    self.reading = reading
    self.members = members
    self.unit = unit
  }

  /// Whether the type of the function has a property.
  func declares(_ property: String) -> Bool {
    owners.contains { program.declarations.declares(property, in: $0) }
  }

  /// Whether the function itself, rather than one that it calls, reads a property of another object.
  func reads(_ property: String) -> Bool {
    function.node.description.range(
      of: "\\.\(property)\\b(?! ?[({])", options: .regularExpression) != nil
  }

  /// Whether an event is about a member of the function's type, or about an object in a property whose
  /// type the tree declares, but not on the main actor.
  func isIndependentOfThreads(_ event: Event) -> Bool {
    if event.receiver.isEmpty { return declares(event.baseName) }
    let root = String(event.receiver.prefix(while: CaseName.isWord))
    let declarations = program.declarations
    return declarations.typeName(ofProperty: root, in: function.owner).map { type in
      declarations.typeNames.contains(type.lastName) && !declarations.isMainActor(type: type)
    } ?? false
  }

  /// Whether the function uses a property whose type only this version has.
  var usesOwnType: Bool {
    members.names.contains { name in
      program.declarations.typeName(ofProperty: name, in: function.owner).map {
        reading.isOwn($0)
      } ?? false
    }
  }

  /// The type of the function, and those of its properties that only this version has.
  var owners: [String] {
    // An object's properties are set by its own initializer.
    if function.name == "init" { return [function.owner] }
    let types = program.declarations.properties(of: function.owner).values
      .map(Declarations.contained).filter(reading.ownTypes.contains)
    return [function.owner] + types + types.map { "\(function.owner).\($0)" }
  }

  /// Whether the function with a name in the type of the function calls itself.
  func isRecursive(_ name: String) -> Bool {
    let all = program.declarations.byName[name, default: []].filter { $0.owner == function.owner }
    return all.count == 1 && all[0].callsItself
  }

  /// What the closures do that the function passes on, without those that run in place.
  var effectsInClosures: Set<String> {
    Set(Trace.all(self).filter { !$0.context.isEmpty }.flatMap { $0.path.events.map(\.key) })
  }

  mutating func followLinearly() {
    if !unit.isLinear { unit = program.unit(function, reading, isLinear: true) ?? unit }
  }

  /// The properties in which each version stores something else: a promise, a continuation, or a task.
  func otherwiseStored(_ other: Version) -> Set<String> {
    let types = [self, other].map { version in
      let declarations = version.program.declarations
      let stored = version.owners.map(declarations.storedTypes).reduce([:]) { stored, types in
        stored.merging(types) { own, _ in own }
      }
      return Dictionary(
        stored.map { (version.reading.newNames[$0.key] ?? $0.key, $0.value) },
        uniquingKeysWith: { $1 })
    }
    return Set(types.flatMap(\.keys)).filter { name in
      let (one, two) = (types[0][name] ?? "", types[1][name] ?? "")
      // These are set at the same times.
      let isConverted = [("Resolver<", "Continuation<"), ("Promise<", "Task<")].contains {
        one.contains($0) && two.contains($1) || two.contains($0) && one.contains($1)
      }
      return one != two && !(isConverted && one.hasPrefix("[") == two.hasPrefix("["))
    }
  }

  /// The properties that both versions have, with other types.
  func otherwiseDeclared(_ other: Version) -> Set<String> {
    let types = [self, other].map { $0.program.declarations.properties(of: $0.function.owner) }
    return Set(types[0].filter { name, type in types[1][name].map { $0 != type } ?? false }.keys)
  }

  /// Paths without the assignments of properties.
  func without(_ properties: Set<String>, _ paths: [Path]) -> [Path] {
    if properties.isEmpty { return paths }
    return paths.map { path in
      var path = path
      path.events.removeAll {
        $0.kind == .set && properties.contains(String($0.subject.prefix(while: CaseName.isWord)))
      }
      return path
    }
  }

  /// The paths through a closure that the function passes to another one.
  func paths(of callback: Callback, settles: Bool = false) -> [Path]? {
    program.paths(of: callback, in: unit, reading, settles: settles)
  }
}

/// What differs between two versions of a function.
struct FunctionComparison {
  private(set) var old: Version
  private(set) var new: Version
  private(set) var judgment: Judgment
  /// The events that get closures in both versions, if it's known when these run.
  let closures: [(Event, Event)]

  init(_ old: Version, _ new: Version) {
    var (old, new) = (old, new)
    if old.unit.isLinear != new.unit.isLinear {
      old.followLinearly()
      new.followLinearly()
    }
    let isFireAndForget =
      !old.function.type.isThenable && new.function.isAsync && !old.function.isAsync
    let stored = old.otherwiseStored(new)
    func comparison() -> (divergences: [Divergence], closures: [(Event, Event)])? {
      Comparison(
        old: old.without(stored, old.unit.paths), new: new.without(stored, new.unit.paths),
        isFireAndForget: isFireAndForget
      ).run()
    }
    var result = comparison()
    // What holds on all paths is known for any number of them.
    let (first, second) = (old, new)
    if result == nil {
      old.followLinearly()
      new.followLinearly()
      result = comparison()
    }
    let paths = old.unit.paths + new.unit.paths
    let isVague = paths.contains(where: \.isVague)
    let (before, after) = (old.members, new.members)
    let becameLoop = before.callsItself != after.callsItself && (before.hasLoop || after.hasLoop)
    let followsPaths = !isVague && !becameLoop && !old.unit.isLinear
    judgment = Judgment(
      result?.divergences ?? [], old, new, followsPaths: followsPaths,
      isSure: !paths.contains(where: \.hasOwnObjects))
    if judgment.undecided != nil {
      judgment.add(Invariants(first, second, comparesLoops: !becameLoop).divergences, old, new)
    }
    closures = isVague || becameLoop ? [] : result?.closures ?? []
    (self.old, self.new) = (old, new)
  }
}
