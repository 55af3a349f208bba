import SwiftSyntax

/// A function with the paths through it.
final class Unit {
  let function: FunctionDeclaration
  let body: Body
  let paths: [Path]
  /// Whether there were too many paths, so that all alternatives were followed in one.
  let isLinear: Bool
  /// Whether a path waits for a promise that a callback settles.
  var waitsForCallbacks: Bool {
    paths.contains { $0.decisions.keys.contains { $0.hasPrefix("fails: callback ") } }
  }

  init(_ function: FunctionDeclaration, _ body: Body, _ paths: [Path], isLinear: Bool) {
    self.function = function
    self.body = body
    self.paths = paths
    self.isLinear = isLinear
  }
}

/// Functions by name, with their bodies.
typealias Inlined = [String: (FunctionDeclaration, Body)]

/// How a version of a program is read, so that it can be compared with the other one.
struct Reading {
  /// The functions that calls are replaced by: those that exist in this version only.
  var inlined: Inlined = [:]
  /// The types of members that this version writes without them, and the other one with them.
  var impliedTypes: [String: String] = [:]
  /// The types that exist in this version only.
  var ownTypes: Set<String> = []
  /// Whether both sides of each `??` are followed, and not only what it describes.
  var followsFallbacks = false
  /// The names that functions, properties, and types have in the other version.
  var newNames: [String: String] = [:]
  /// The position of the parameter that is always the result of a function; nil for others.
  var returnedParameter: (FunctionDeclaration) -> Int? = { _ in nil }
  /// The functions that get a promise in the other version, and in this one a closure with the work.
  var takesWork: Set<String> = []
  /// The descriptions of parameters that the other version has at other positions, or as a property.
  var parameters: [Int: String] = [:]
  /// What tries work again, if the library's `retry` became a function of the program.
  var retries: Retries?
  /// The properties that the type of the function has in the other version.
  var otherProperties: Set<String> = []

  /// Whether the other version of the function locks something.
  var otherLocks = false

  /// Whether a property of a type contains an object whose type exists in this version only, such as
  /// a `Mutex<State>` or a `OneShot<Data>`.
  func isOwn(_ type: String) -> Bool {
    ownTypes.contains(Declarations.contained(type))
      || ownTypes.contains(String(type.prefix(while: CaseName.isWord)))
  }
}

/// The lowered functions of a tree.
final class Program {
  let tree: SourceTree
  let declarations: Declarations
  private(set) var decisions = Decisions()
  private var bodies: [ObjectIdentifier: Body] = [:]
  /// The operators of each function.
  private(set) var links: [ObjectIdentifier: [Link]] = [:]

  private var returnedParameters: [ObjectIdentifier: Int?] = [:]

  /// How often words are in files.
  private var words: [ObjectIdentifier: [Substring: Int]] = [:]

  init(_ tree: SourceTree) {
    self.tree = tree
    declarations = Declarations(tree)
  }

  func words(of file: SourceFile) -> [Substring: Int] {
    if let known = words[ObjectIdentifier(file)] { return known }
    let counts = Words.counts(Syntax(file.syntax))
    words[ObjectIdentifier(file)] = counts
    return counts
  }

  func body(of function: FunctionDeclaration) -> Body? {
    if let known = bodies[ObjectIdentifier(function)] { return known }
    let lowering = Lowering(function.file, declarations, owner: function.owner)
    let body = lowering.body(of: function)
    bodies[ObjectIdentifier(function)] = body
    links[ObjectIdentifier(function)] = lowering.links
    decisions += lowering.decisions
    return body
  }

  /// The paths through a function.
  func unit(
    _ function: FunctionDeclaration, _ reading: Reading, isLinear: Bool = false
  ) -> Unit? {
    guard let body = body(of: function) else { return nil }
    let start = startExecutor(of: function, declarations)
    let machine = Machine(
      reading: reading, declarations: declarations, function: function, home: start,
      isLinear: isLinear)
    do {
      let state = State(executor: start)
      let paths = try machine.paths(
        of: body, arguments: arguments(of: function, reading), state,
        isPromise: function.returnsAsynchronously,
        isVoid: function.returnsNothing)
      return Unit(function, body, paths, isLinear: isLinear)
    } catch {
      return unit(function, reading, isLinear: true)
    }
  }

  /// The position of the parameter that is the result of a function whenever it succeeds.
  func returnedParameter(of function: FunctionDeclaration) -> Int? {
    let result = function.plainResult
    guard function.parameters.contains(where: { $0.type == result }) else { return nil }
    if let known = returnedParameters[ObjectIdentifier(function)] { return known }
    // A function that calls itself.
    returnedParameters[ObjectIdentifier(function)] = .some(nil)
    let endings = unit(function, Reading())?.paths.compactMap { path in
      if case .value(let text) = path.ending { text } else { nil }
    }
    let found = function.parameters.indices.first { index in
      endings?.isEmpty == false && endings?.allSatisfy { $0 == "parameter \(index)" } == true
    }
    returnedParameters[ObjectIdentifier(function)] = .some(found)
    return found
  }

  private func arguments(of function: FunctionDeclaration, _ reading: Reading) -> [Value] {
    function.parameters.enumerated().map { index, parameter in
      // `type` is `T.self`: what is decoded has no subclasses.
      .plain(
        parameter.type.hasSuffix(".Type")
          ? "\(parameter.type.dropLast(5)).self"
          : reading.parameters[index] ?? "parameter \(index)")
    }
  }

  /// The paths through a closure that another function calls.
  ///
  /// With `settles`, a promise that the closure returns is followed to its result.
  func paths(
    of callback: Callback, in unit: Unit, _ reading: Reading, settles: Bool = false
  ) -> [Path]? {
    guard let body = callback.body, let state = callback.state?.forCallback(callback.home) else {
      return nil
    }
    for isLinear in [unit.isLinear, true] {
      let machine = Machine(
        reading: reading, declarations: declarations, function: unit.function,
        home: callback.home, isLinear: isLinear)
      let arguments = body.parameters.indices.map {
        Value.plain(callback.errors.contains($0) ? "error argument \($0)" : "argument \($0)")
      }
      if let paths = try? machine.paths(
        of: body, arguments: arguments, state, isPromise: settles, isVoid: false)
      {
        return paths
      }
    }
    return nil
  }
}

extension Machine {
  func paths(
    of body: Body, arguments: [Value], _ state: State, isPromise: Bool, isVoid: Bool
  ) throws -> [Path] {
    try invoke(body, arguments, state, isEffect: isVoid && !isPromise).flatMap {
      state, value, flow -> [Path] in
      guard flow == nil, isPromise, let value else {
        return [path(state, value, flow, isVoid: isVoid)]
      }
      return try settle(value, state).map { state, outcome in
        switch outcome {
        case .fulfilled(let value): path(state, value, nil, isVoid: isVoid)
        case .rejected(let error): path(state, nil, .thrown(error), isVoid: isVoid)
        }
      }
    }
  }

  private func path(_ state: State, _ value: Value?, _ flow: Flow?, isVoid: Bool) -> Path {
    var state = state
    let value = value.map(state.decided)
    // A call whose value would be the result is there for its effect.
    if isVoid, case .plain(let text)? = value,
      let index = state.events.lastIndex(where: { $0.kind == .call && $0.key == text })
    {
      state.events[index].isEffect = true
    }
    let ending: Ending =
      switch flow {
      case .thrown(let error)?: .error(error.text)
      case .crashed?: .crash
      default: .value(isVoid || state.isEnd(value) ? "()" : value?.text ?? "()")
      }
    let sections = state.events.lockedSections
    for index in sections.joined() { state.events[index].isLocked = true }
    // The other version protects the same in another way.
    let locks = Set(
      sections.filter {
        let name = String(state.events[$0.lowerBound].receiver.prefix(while: CaseName.isWord))
        return declarations.properties[name] != nil
          && !(reading.otherLocks && reading.otherProperties.contains(name))
      }
      .flatMap { [$0.lowerBound, $0.upperBound] })
    // What happens inside an object that the path has created, of a type that only this version has.
    let events = state.events.indices.filter { !locks.contains($0) }.map { state.events[$0] }
      .filter { !isOwnObject($0.subject) || $0.isAwaited }
    return Path(
      decisions: state.decisions, events: events, ending: ending, endPlace: state.endPlace,
      lists: state.lists, joins: state.joins, doubts: state.doubts, waits: state.waits,
      present: state.present,
      isVague: state.isVague, hasOwnObjects: events.count + locks.count < state.events.count)
  }
}

extension [Event] {
  /// The sections between calls that lock and unlock the same object, with these calls.
  fileprivate var lockedSections: [ClosedRange<Int>] {
    var result: [ClosedRange<Int>] = []
    var open: [Substring: [Int]] = [:]
    for (index, event) in enumerated() where event.kind == .call {
      if event.baseName == "lock" {
        open[event.receiver, default: []].append(index)
      } else if event.baseName == "unlock", let start = open[event.receiver]?.popLast() {
        result.append(start...index)
      }
    }
    return result
  }
}
