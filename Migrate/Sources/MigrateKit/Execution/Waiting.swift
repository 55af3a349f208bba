extension Machine {
  func awaiting(_ inner: Expr, _ state: State, isEffect: Bool) throws -> Values {
    var target = inner
    switch inner.kind {
    case .member(let base?, "value"):
      target = base
    case .member(let base?, "result"):
      return try evaluate(base, state).flatMap { first, value, flow -> Values in
        guard let value, flow == nil, first.isTask(value) else {
          return flow.map { [(first, nil, $0)] }
            ?? [(first, value.map { member($0, "result") }, nil)]
        }
        return try settleAll([value], first, [], ignoresErrors: true).map { state, values, flow in
          var state = state
          state.executor = resumed(state)
          return (state, values?.first, flow)
        }
      }
    case .member(let base?, let name)
    where base.containsCall || base.isValueOfTask || isGetter(base, state) || isChild(base, state):
      // `await load().name`: the call is what is awaited.
      return try awaiting(base, state, isEffect: false).map { state, value, flow in
        (state, value.map { member($0, name) }, flow)
      }
    case .call(let callee, let arguments)
    where arguments.onlyNameQueue && bridged(callee) != nil:
      target = bridged(callee) ?? inner
    case .call(let callee, let arguments):
      // `await send(load())` and `await load().sorted()` await the calls inside, too.
      // In `await task().value.text()`, the value is what is awaited.
      let isAsync = declarations.mayBeAsync(
        callee, arguments, onlyDeclared: callee.containsValueOfCall)
      target = covered(callee, arguments, inner, state, onlyDeclared: isAsync)
      if !isAsync, target.containsAwait { return try evaluate(target, state, isEffect: isEffect) }
    case .compound(let pieces):
      return try compound(pieces.map { covered($0, state, onlyDeclared: false) }, state)
    case .tuple: target = covered(inner, state, onlyDeclared: false)
    case .conditional:
      return try evaluate(covered(inner, state, onlyDeclared: false), state, isEffect: isEffect)
    default: break
    }
    if case .chain(let link) = inner.kind, link.role == .toAsync { target = link.base }
    let wasInAwait = state.isInAwait
    var state = state
    state.isInAwait = true
    return try evaluate(target, state, isEffect: isEffect).flatMap { state, value, flow -> Values in
      var state = state
      state.isInAwait = wasInAwait
      if let flow { return [(state, nil, flow)] }
      if case .plain(let text)? = value, case .call = target.kind {
        if let index = state.openCall(text) {
          state.events[index].needsNoWait = false
        } else if !inner.isValueOfTask, !state.events.contains(where: { $0.key == text }) {
          // A call that was followed has waited for all that it waits for.
          state.executor = resumed(state)
          return [(state, value, nil)]
        }
      }
      // `await (first, second)`
      if case .tuple(let values)? = value {
        // What was computed from results has been awaited.
        let values = values.map { value in
          let isKnown = state.isPending(value) || state.events.contains { $0.key == value.text }
          return isKnown ? value : .promise(state.addPromise(.fulfilled(value)))
        }
        return try settleAll(values[...], state, [], canFail: state.isInTry).map {
          state, values, flow in
          (state, values.map { .tuple($0) }, flow)
        }
      }
      if case .list(var list)? = value {
        return try settleAll(list.elements[...], state, [], canFail: state.isInTry).map {
          state, values, flow in
          list.elements = values ?? []
          return (state, flow == nil ? .list(list) : nil, flow)
        }
      }
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

  /// An expression under `await` whose parts are awaited, each by itself.
  ///
  /// A call inside another one that is awaited is only awaited if its declaration says that it is
  /// `async`.
  private func covered(_ expression: Expr, _ state: State, onlyDeclared: Bool) -> Expr {
    let result: Expr
    switch expression.kind {
    case .call(let callee, let arguments):
      let isAsync = declarations.mayBeAsync(callee, arguments, onlyDeclared: onlyDeclared)
      let call = covered(
        callee, arguments, expression, state, onlyDeclared: onlyDeclared || isAsync)
      result = isAsync ? Expr(.await(call), call.place, .other) : call
    case .chain(let link) where link.role == .toAsync:
      result = Expr(.await(expression), expression.place, .other)
    case .name where isGetter(expression, state) || isChild(expression, state),
      .member where isGetter(expression, state):
      result = Expr(.await(expression), expression.place, .other)
    case .member(let base?, "value") where base.containsCall || isTask(base, state):
      result = Expr(.await(expression), expression.place, .other)
    case .member(let base?, let name):
      result = Expr(
        .member(covered(base, state, onlyDeclared: onlyDeclared), name), expression.place,
        expression.type)
    case .tuple(let parts):
      let all = parts.map {
        Expr.Argument(
          label: $0.label, value: covered($0.value, state, onlyDeclared: onlyDeclared))
      }
      result = Expr(.tuple(all), expression.place, expression.type)
    case .attempt(let kind, let inner):
      result = Expr(
        .attempt(kind, covered(inner, state, onlyDeclared: onlyDeclared)), expression.place,
        expression.type)
    case .conditional(let question, let first, let second):
      let parts = [question, first, second].map { covered($0, state, onlyDeclared: onlyDeclared) }
      result = Expr(
        .conditional(parts[0], parts[1], parts[2]), expression.place, expression.type)
    case .compound(let pieces):
      result = Expr(
        .compound(pieces.map { covered($0, state, onlyDeclared: onlyDeclared) }),
        expression.place, expression.type)
    default: return expression
    }
    result.isOptional = expression.isOptional
    return result
  }

  /// The promise that `promise.async()` waits for; nil for other functions.
  private func bridged(_ callee: Expr) -> Expr? {
    guard case .member(let base?, let name) = callee.kind, bridges.contains(name) else {
      return nil
    }
    return base
  }

  /// The functions with which `async` code waits for a promise.
  var bridges: [String] { library == .google ? ["get"] : ["async", "asyncValue"] }

  /// Whether a name or member is a property with an asynchronous getter.
  private func isGetter(_ expression: Expr, _ state: State) -> Bool {
    switch expression.kind {
    case .name(let name):
      state.environment[name] == nil && declarations.isGetter(name, in: owner)
    case .member(let base?, let name): declarations.isGetter(name, in: base.isSelf ? owner : nil)
    default: false
    }
  }

  /// Whether a name is that of an `async let`.
  private func isChild(_ expression: Expr, _ state: State) -> Bool {
    isTask(expression, state, [.child])
  }

  /// Whether a name is that of work of some kinds that the path has started.
  private func isTask(
    _ expression: Expr, _ state: State, _ kinds: [ListKind] = [.task, .child]
  ) -> Bool {
    guard case .name(let name) = expression.kind, case .promise(let id)? = state.environment[name],
      let list = state.promises[id].list
    else { return false }
    return kinds.contains(state.lists[list].kind)
  }

  private func covered(
    _ callee: Expr, _ arguments: [Expr.Argument], _ call: Expr, _ state: State, onlyDeclared: Bool
  ) -> Expr {
    var callee = callee
    if case .member(let base?, let name) = callee.kind {
      callee = Expr(
        .member(covered(base, state, onlyDeclared: onlyDeclared), name), callee.place, callee.type)
    }
    let all = arguments.map {
      Expr.Argument(
        label: $0.label, value: covered($0.value, state, onlyDeclared: onlyDeclared))
    }
    return Expr(.call(callee, all), call.place, call.type)
  }

  private func covered(_ piece: Expr.Piece, _ state: State, onlyDeclared: Bool) -> Expr.Piece {
    guard case .expression(let part) = piece else { return piece }
    return .expression(covered(part, state, onlyDeclared: onlyDeclared))
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

  /// Waits for several values; with `ignoresErrors`, their results are `.success` and `.failure`.
  func settleAll(
    _ values: ArraySlice<Value>, _ state: State, _ done: [Value], ignoresErrors: Bool = false,
    canFail: Bool = true
  ) throws -> [(State, [Value]?, Flow?)] {
    guard let first = values.first else { return [(state, done, nil)] }
    return try settle(first, state, canFail: canFail).flatMap {
      state, outcome -> [(State, [Value]?, Flow?)] in
      let result: Value
      switch outcome {
      case .rejected(let error) where !ignoresErrors: return [(state, nil, .thrown(error))]
      case .rejected(let error): result = first.replaced(by: ".failure(\(error.text))")
      case .fulfilled(.elements(let elements)) where ignoresErrors:
        result = first.replaced(by: ".success(\(elements.element.text))")
      case .fulfilled(let value):
        result = ignoresErrors ? .plain(".success(\(value.text))") : value
      }
      return try settleAll(
        values.dropFirst(), state, done + [result], ignoresErrors: ignoresErrors, canFail: canFail)
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
      if ["()", "nil", "results of the group"].contains(text) {
        return [(state, .fulfilled(value))]
      }
      state.markAwaited(text)
      state.waits[text] = state.waits[text] ?? false
      let result = state.passed[text] ?? value
      guard canFail else { return [(state, .fulfilled(result))] }
      return try failing(text, result, state).map(outcome)
    case .elements(var elements) where state.isPending(elements.element):
      let depth = state.loops.count
      return try settle(elements.element, state, canFail: canFail).map { state, outcome in
        var state = state
        for index in state.events.indices
        where state.events[index].loops.dropFirst(depth).first == elements.source {
          state.events[index].isParallel = true
        }
        guard case .fulfilled(let value) = outcome else { return (state, outcome) }
        elements.element = value
        return (state, .fulfilled(.elements(elements)))
      }
    case .elements(let elements) where state.isPending(.plain(elements.source)):
      // `load().map { … }` that has to be a promise: `map` wasn't that of a collection.
      return try settle(.plain(elements.source), state, canFail: canFail).map { state, outcome in
        guard case .fulfilled = outcome else { return (state, outcome) }
        var state = state
        state.replaceElement(of: elements.source)
        let each = Elements.each(elements.source).text
        let value = elements.element.text.replacingOccurrences(of: each, with: elements.source)
        return (state, .fulfilled(.plain(value)))
      }
    case .group: return [(state, .fulfilled(.plain("results of the group")))]
    case .tuple(let parts):
      // A promise next to what cancels it.
      let promises = parts.filter { if case .promise = $0 { true } else { false } }
      if promises.count == 1 { return try settle(promises[0], state, canFail: canFail) }
      return [(state, .fulfilled(value))]
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
      } else if case .member(let base?, "value") = inner.kind, base.containsCall {
        inner = base
      } else {
        break
      }
    }
    if case .attempt(.optional, let tried) = inner.kind {
      // The child waits for the call, whose error is its own.
      inner = Expr(.attempt(.optional, Expr(.await(tried), tried.place)), inner.place)
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
      case nil:
        // A call that was followed has its result.
        let isKnown = value.map { value in
          if case .plain(let text) = value, isAsyncCall(inner) {
            !state.events.contains { $0.key == text }
          } else {
            false
          }
        }
        id =
          isKnown ?? false
          ? state.addPromise(value.map(Outcome.fulfilled), list: list)
          : state.addPromise(source: value, list: list)
      }
      return (state, .promise(id), nil)
    }
  }

  func isAsyncCall(_ expression: Expr) -> Bool {
    if case .call = expression.kind { return true }
    return false
  }
}
