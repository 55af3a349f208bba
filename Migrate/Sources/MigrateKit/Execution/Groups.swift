/// Task groups, and how the results of their children are collected.
extension Machine {
  /// A task of a group.
  struct Child {
    /// The collection for each element of which there is such a task; nil if there is one.
    let source: String?
    let outcome: Outcome
    /// The time for which the task only waits, before it fails or returns.
    let pause: String?
  }

  func taskGroup(
    _ arguments: [Expr.Argument], _ state: State, throwsErrors: Bool
  ) throws -> Values? {
    guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
    // The labels in `of: (index: Int, row: Row).self`.
    if let type = arguments.first?.value, case .member(let tuple?, "self") = type.kind {
      _ = try evaluate(tuple, state)
    }
    var state = state
    let before = state.lists.count
    let outer = state.children
    state.children = []
    return try invoke(body, [.group], state).map { state, value, flow in
      var state = state
      // The group waits for its children.
      for list in before..<max(before, state.lists.count) where state.lists[list].kind == .child {
        state.join(list)
      }
      let error = throwsErrors ? state.errorOfChildren : nil
      state.children = outer
      if flow == nil, let error { return (state, nil, .thrown(error)) }
      return (state, value, flow)
    }
  }

  func groupMethod(
    _ name: String, _ arguments: [Expr.Argument], _ state: State
  ) throws -> Values? {
    if name.hasPrefix("addTask") { return try addTask(arguments, state) }
    switch name {
    case "next": return try firstChild(state)
    case "cancelAll": return [(state, .nothing, nil)]
    case "reduce": return try reduceChildren(arguments, state)
    default:
      if let error = state.errorOfChildren { return [(state, nil, .thrown(error))] }
      return [(state, .plain("results of the group"), nil)]
    }
  }

  private func addTask(_ arguments: [Expr.Argument], _ state: State) throws -> Values? {
    guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
    var state = state
    let outer = (state.list, state.executor)
    state.list = state.startList(.child)
    state.executor = .pool
    let count = state.events.count
    return try invoke(body, [], state, isEffect: true).map { state, value, flow in
      var state = state
      (state.list, state.executor) = outer
      for index in state.events.indices.dropFirst(count) { state.events[index].isParallel = true }
      var outcome = Outcome.fulfilled(value ?? .nothing)
      switch flow {
      case .thrown(let error)?:
        outcome = .rejected(error)
        if let name = CaseName.ofError(error.text[...]) { state.ownErrors.insert(name) }
      case let flow?: return (state, nil, flow)
      case nil: break
      }
      let own = state.events.dropFirst(count).filter(\.isStrong)
      let pause = own.count == 1 ? own.first { $0.subject == "sleep" }?.key : nil
      state.children.append(Child(source: state.loops.last, outcome: outcome, pause: pause))
      return (state, .nothing, nil)
    }
  }

  /// The first result: that of the work, or of the child that waits for a time.
  private func firstChild(_ state: State) throws -> Values {
    guard state.children.count == 2,
      let timer = state.children.firstIndex(where: { $0.pause != nil }),
      let pause = state.children[timer].pause
    else { return [(state, .plain("results of the group"), nil)] }
    return try decide("passes: \(pause)", state).map { state, isLate in
      var state = state
      let first = state.children[isLate ? timer : 1 - timer].outcome
      // A group with tasks has a next result.
      if case .fulfilled(let value) = first, value.text != "nil" {
        state.decisions["\(value.text) != nil"] = true
      }
      return result(state, first)
    }
  }

  private func reduceChildren(_ arguments: [Expr.Argument], _ state: State) throws -> Values? {
    guard arguments.count == 2 else { return nil }
    if arguments[0].label != "into" {
      let first = try evaluate(arguments[0].value, state).first?.1 ?? .nothing
      if state.children.isEmpty, state.errorOfChildren == nil { return [(state, first, nil)] }
      return try forEachChild(state, .name("each")) { state in
        let element = state.environment["each"] ?? .nothing
        return try call(arguments[1].value, [first, element], state).map { state, value, flow in
          // Which elements are counted isn't known from one of them.
          let text = value?.text ?? ""
          let isKnown = text.contains(element.text)
          return (state, flow ?? .normal(.plain(isKnown ? text : "reduce{\(text)}")))
        }
      }
      .map { state, flow in
        if case .normal(let value) = flow { (state, value, nil) } else { (state, nil, flow) }
      }
    }
    guard case .closure(let body) = arguments[1].value.kind, body.parameters.count == 2 else {
      return [(state, .plain("results of the group"), nil)]
    }
    return try forEachChild(state, .name(body.parameters[1])) { state in
      var state = state
      state.environment[body.parameters[0]] = .plain("[]")
      return try block(body.steps, state)
    }
    .map { state, flow in
      if case .thrown = flow { return (state, nil, flow) }
      return (state, state.environment[body.parameters[0]], nil)
    }
  }

  /// Runs the body of a loop over the results of a group, for one of them.
  func forEachChild(
    _ state: State, _ pattern: Pattern, _ body: (State) throws -> [(State, Flow)]
  ) throws -> [(State, Flow)] {
    if let error = state.errorOfChildren { return [(state, .thrown(error))] }
    if state.children.isEmpty { return [(state, .normal(.nothing))] }
    var state = state
    let outer = state.gathered
    var source = "group"
    var value = Value.plain("each(group)")
    if state.children.count == 1, let all = state.children[0].source,
      case .fulfilled(let result) = state.children[0].outcome
    {
      (source, value) = (all, result)
      state.gathered = all
    }
    state.loops.append(source)
    return try body(destructure(pattern, value, state)).map { state, flow in
      var state = state
      state.loops.removeLast()
      state.gathered = outer
      if case .left = flow { return (state, .normal(.nothing)) }
      return (state, flow)
    }
  }

  /// What a loop such as `while let result = await group.next()` binds; nil for other loops.
  func loopOverGroup(_ loop: Loop, _ state: State) throws -> (Pattern, [Step])? {
    guard loop.steps.count == 1,
      case .branch(let conditions, let then, let otherwise) = loop.steps[0],
      otherwise.isEmpty, conditions.count == 1, case .unwrap(let pattern, var value) = conditions[0]
    else { return nil }
    while true {
      switch value.kind {
      case .attempt(.propagate, let inner), .await(let inner): value = inner
      case .call(let callee, _):
        guard case .member(let base?, "next") = callee.kind,
          case .group? = try evaluate(base, state).first?.1
        else { return nil }
        return (pattern, then)
      default: return nil
      }
    }
  }

  /// Stores a value in a local collection for each element of another one, or for each child of a
  /// group; nil if an assignment doesn't do that.
  func gather(_ target: Expr, _ value: Value, _ state: State) throws -> State? {
    guard case (_, let name?, let key)? = target.subscripted,
      let collection = state.environment[name],
      let source = state.gathered ?? state.loops.last,
      let key = try evaluate(key, state).first?.1?.text
    else { return nil }
    switch collection {
    case .elements(let elements) where elements.source == source: break
    case _ where collection.isEmptyList: break
    default: guard state.gathered != nil, key.contains("(\(source))") else { return nil }
    }
    var state = state
    state.environment[name] = .elements(
      Elements(
        source: source, element: value, key: key,
        isOrdered: key == "index(\(source))" || Elements.hasNoOrder(source)))
    return state
  }
}

extension State {
  /// The error with which a child of the group fails.
  fileprivate var errorOfChildren: Value? {
    for child in children { if case .rejected(let error) = child.outcome { return error } }
    return nil
  }
}
