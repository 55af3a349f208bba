extension Machine {
  func awaiting(_ inner: Expr, _ state: State, isEffect: Bool) throws -> Values {
    var target = inner
    switch inner.kind {
    case .member(let base?, "value"):
      target = base
    case .member(let base?, let name) where base.containsCall || base.isValueOfTask:
      // `await load().name`: the call is what is awaited.
      return try awaiting(base, state, isEffect: false).map { state, value, flow in
        (state, value.map { member($0, name) }, flow)
      }
    case .call(let callee, let arguments) where arguments.contains(where: isDeclaredAsync):
      // `await send(load())` awaits both calls.
      let waited = arguments.map { argument in
        isDeclaredAsync(argument)
          ? Expr.Argument(
            label: argument.label, value: Expr(.await(argument.value), argument.value.place))
          : argument
      }
      return try awaiting(
        Expr(.call(callee, waited), inner.place, inner.type), state, isEffect: isEffect)
    case .call(let callee, let arguments):
      guard case .member(let base?, let name) = callee.kind, Self.pure.contains(name),
        base.containsCall
      else { break }
      let waited = Expr(.await(base), base.place, .other)
      let method = Expr(.member(waited, name), callee.place)
      return try evaluate(
        Expr(.call(method, arguments), inner.place), state, isEffect: isEffect)
    case .compound(let pieces):
      let waited = pieces.map { piece -> Expr.Piece in
        guard case .expression(let part) = piece, part.containsCall else { return piece }
        return .expression(Expr(.await(part), part.place))
      }
      return try compound(waited, state)
    default: break
    }
    if case .chain(let link) = inner.kind, link.role == .toAsync { target = link.base }
    return try evaluate(target, state, isEffect: isEffect).flatMap { state, value, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      // `await (first, second)`
      if case .tuple(let values)? = value {
        return try settleAll(values[...], state, []).map { state, values, flow in
          (state, values.map { .tuple($0) }, flow)
        }
      }
      if case .list(var list)? = value {
        return try settleAll(list.elements[...], state, []).map { state, values, flow in
          list.elements = values ?? []
          return (state, flow == nil ? .list(list) : nil, flow)
        }
      }
      var state = state
      if case .plain(let text)? = value, target.type.isThenable || inner.isValueOfTask {
        state.waits[text] = !state.events.contains { $0.kind == .call && $0.key == text }
      }
      return try settle(value ?? .nothing, state, canFail: state.isInTry).map {
        state, outcome in
        var state = state
        state.executor = resumed(state)
        return result(state, outcome)
      }
    }
  }

  private func isDeclaredAsync(_ argument: Expr.Argument) -> Bool {
    guard case .call(let callee, _) = argument.value.kind else { return false }
    let name: String
    switch callee.kind {
    case .name(let text), .member(_, let text): name = text
    default: return false
    }
    return declarations.byName[name]?.allSatisfy(\.isAsync) ?? false
  }

  /// The executor on which an `async` function continues.
  func resumed(_ state: State) -> Executor {
    if state.executor == .caller { return home == .caller ? .pool : home }
    return state.executor
  }

  func result(_ state: State, _ outcome: Outcome) -> (State, Value?, Flow?) {
    switch outcome {
    case .fulfilled(let value): (state, value, nil)
    case .rejected(let error): (state, nil, .thrown(error))
    }
  }

  func settleAll(
    _ values: ArraySlice<Value>, _ state: State, _ done: [Value]
  ) throws -> [(State, [Value]?, Flow?)] {
    guard let first = values.first else { return [(state, done, nil)] }
    return try settle(first, state).flatMap { state, outcome -> [(State, [Value]?, Flow?)] in
      switch outcome {
      case .rejected(let error): return [(state, nil, .thrown(error))]
      case .fulfilled(let value):
        return try settleAll(values.dropFirst(), state, done + [value])
      }
    }
  }

  /// Waits for a promise, or for the call that a plain value describes.
  func settle(
    _ value: Value, _ state: State, canFail: Bool = true
  ) throws -> [(State, Outcome)] {
    var state = state
    switch value {
    case .promise(let id):
      let promise = state.promises[id]
      if let list = promise.list { state.join(list) }
      if let outcome = promise.outcome {
        if case .fulfilled(.promise(let inner)) = outcome, inner != id {
          return try settle(.promise(inner), state, canFail: canFail)
        }
        return [(state, outcome)]
      }
      if let source = promise.source {
        return try settle(source, state, canFail: canFail && promise.canFail)
      }
      let number = state.callbackNumber(of: id)
      guard canFail, promise.canFail else {
        return [(state, .fulfilled(.plain("result of callback \(number)")))]
      }
      return try failing("callback \(number)", .plain("result of callback \(number)"), state)
        .map(outcome)
    case .plain(let text):
      if let stored = state.stored[text] { return try settle(stored, state, canFail: canFail) }
      if var elements = state.mapped[text] {
        return try settle(elements.element, state, canFail: canFail).map { state, outcome in
          var state = state
          for index in state.events.indices
          where state.events[index].loops.count > state.loops.count {
            state.events[index].isParallel = true
          }
          guard case .fulfilled(let value) = outcome else { return (state, outcome) }
          elements.element = value
          return (state, .fulfilled(.elements(elements)))
        }
      }
      if ["()", "nil", "results of the group"].contains(text) {
        return [(state, .fulfilled(value))]
      }
      state.markAwaited(text)
      state.waits[text] = state.waits[text] ?? false
      guard canFail else { return [(state, .fulfilled(value))] }
      return try failing(text, value, state).map(outcome)
    case .group: return [(state, .fulfilled(.plain("results of the group")))]
    default:
      return [(state, .fulfilled(value))]
    }
  }

  func outcome(_ result: (State, Value?, Flow?)) -> (State, Outcome) {
    if case .thrown(let error)? = result.2 { return (result.0, .rejected(error)) }
    return (result.0, .fulfilled(result.1 ?? .nothing))
  }

  /// `async let`: the expression runs in a child task, and its value is awaited later.
  func asyncLet(_ value: Expr, _ state: State) throws -> Values {
    var inner = value
    while true {
      if case .attempt(.propagate, let next) = inner.kind {
        inner = next
      } else if case .await(let next) = inner.kind {
        inner = next
      } else {
        break
      }
    }
    var state = state
    let outer = (state.list, state.executor)
    state.list = state.startList(.child)
    let list = state.list
    state.executor = home == .main && !isAsyncCall(inner) ? .main : .pool
    return try evaluate(inner, state).map { state, value, flow in
      var state = state
      (state.list, state.executor) = outer
      let id: Int
      switch flow {
      case .thrown(let error)?: id = state.addPromise(.rejected(error), list: list)
      case let flow?: return (state, nil, flow)
      case nil: id = state.addPromise(source: value, list: list)
      }
      return (state, .promise(id), nil)
    }
  }

  func isAsyncCall(_ expression: Expr) -> Bool {
    if case .call = expression.kind { return true }
    return false
  }
}
