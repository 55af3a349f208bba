/// A function with the paths through it.
final class Unit {
  let function: FunctionDeclaration
  let body: Body
  let paths: [Path]
  /// Whether there were too many paths, so that all alternatives were followed in one.
  let isLinear: Bool

  init(_ function: FunctionDeclaration, _ body: Body, _ paths: [Path], isLinear: Bool) {
    self.function = function
    self.body = body
    self.paths = paths
    self.isLinear = isLinear
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

  init(_ tree: SourceTree) {
    self.tree = tree
    declarations = Declarations(tree)
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

  /// The paths through a function, in which calls of `inlined` functions are replaced by bodies.
  func unit(
    _ function: FunctionDeclaration, inlined: [String: (FunctionDeclaration, Body)],
    isLinear: Bool = false
  ) -> Unit? {
    guard let body = body(of: function) else { return nil }
    let start = startExecutor(of: function, declarations)
    let machine = Machine(
      inlined: inlined, declarations: declarations, owner: function.owner, home: start,
      library: declarations.library(of: function.file), isLinear: isLinear)
    do {
      let state = State(executor: start)
      let paths = try machine.paths(
        of: body, arguments: body.parameters.indices.map { .plain("parameter \($0)") }, state,
        isPromise: function.type.isThenable, isVoid: function.returnsNothing)
      return Unit(function, body, paths, isLinear: isLinear)
    } catch {
      return unit(function, inlined: inlined, isLinear: true)
    }
  }

  /// The paths through a closure that another function calls.
  ///
  /// With `settles`, a promise that the closure returns is followed to its result.
  func paths(
    of callback: Callback, in unit: Unit, inlined: [String: (FunctionDeclaration, Body)],
    settles: Bool = false
  ) -> [Path]? {
    guard let body = callback.body else { return nil }
    for isLinear in [unit.isLinear, true] {
      let machine = Machine(
        inlined: inlined, declarations: declarations, owner: unit.function.owner,
        home: callback.home, library: declarations.library(of: unit.function.file),
        isLinear: isLinear)
      var state = State(executor: callback.home)
      state.environment = callback.environment.mapValues { value in
        guard case .list(var list) = value else { return value }
        list.depth = -1
        return .list(list)
      }
      state.promises = callback.outerPromises
      state.outerPromises = callback.outerPromises.count
      let arguments = body.parameters.indices.map { Value.plain("argument \($0)") }
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
    let ending: Ending =
      switch flow {
      case .thrown(let error)?: .error(error.text)
      case .crashed?: .crash
      default: .value(isVoid || state.isEnd(value) ? "()" : value?.text ?? "()")
      }
    return Path(
      decisions: state.decisions, events: state.events, ending: ending, endPlace: state.endPlace,
      lists: state.lists, joins: state.joins, doubts: state.doubts, waits: state.waits)
  }
}
