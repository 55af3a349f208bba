extension Machine {
  /// Functions of the promise libraries; nil if `name` isn't one.
  func promiseFunction(
    _ name: String, _ arguments: [Expr.Argument], _ expression: Expr, _ library: Library,
    _ state: State
  ) throws -> Values? {
    switch name {
    case "Promise", "Guarantee":
      return try create(arguments, library, state, canFail: name == "Promise")
    case "firstly", "attempt":
      guard name == "firstly" || library == .pledge else { return nil }
      guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
      return try invoke(body, [], state).map { state, value, flow in
        if case .thrown(let error)? = flow {
          return state.withPromise(.rejected(error))
        }
        return (state, value, flow)
      }
    case "when", "all":
      return try combine(arguments, state)
    case "allSettled" where library == .pledge:
      return try combine(arguments, state, ignoresErrors: true)
    case "race":
      return try race(arguments, state)
    case "wrap":
      guard library != .promiseKit, case .closure(let body)? = arguments.last?.value.kind else {
        return nil
      }
      return try withResolver(body, ["resolve"], arguments, library, state)
    case "hang", "awaitPromise":
      guard let first = arguments.first?.value else { return nil }
      return try evaluate(first, state).flatMap { state, value, flow in
        try blocking(value, flow, expression.place, state)
      }
    default:
      return nil
    }
  }

  func blocking(
    _ value: Value?, _ flow: Flow?, _ place: Place, _ state: State
  ) throws -> Values {
    if let flow { return [(state, nil, flow)] }
    var state = state
    record(
      .block, key: "blocks the thread", subject: "wait", values: "", at: place,
      isEffect: true, in: &state)
    return try settle(value ?? .nothing, state).map(result)
  }

  private func create(
    _ arguments: [Expr.Argument], _ library: Library, _ state: State, canFail: Bool = true
  ) throws -> Values? {
    guard let last = arguments.last else {
      // Google's is pending; PromiseKit's is fulfilled with `Void`.
      let outcome: Outcome? = library == .google ? nil : .fulfilled(.nothing)
      return [state.withPromise(outcome)]
    }
    if last.label == "error" {
      return try evaluate(last.value, state).map { state, value, flow in
        if let flow { return (state, nil, flow) }
        return state.withPromise(.rejected(value ?? .nothing))
      }
    }
    guard case .closure(let body) = last.value.kind else {
      return try evaluate(last.value, state).map { state, value, flow in
        if let flow { return (state, nil, flow) }
        let value = value ?? .nothing
        if library == .google, value.text.contains("rror") {
          return state.withPromise(.rejected(value))
        }
        if case .promise = value { return (state, value, nil) }
        if case .resolverMethod = value { return (state, value, nil) }
        return library == .google
          ? state.withPromise(.fulfilled(value)) : state.withPromise(source: value)
      }
    }
    if usesResolver(body, library) {
      let methods = library == .google ? ["fulfill", "reject"] : []
      return try withResolver(body, methods, arguments, library, state, canFail: canFail)
    }
    return try work(body, arguments, library, state)
  }

  private func usesResolver(_ body: Body, _ library: Library) -> Bool {
    switch library {
    case .promiseKit: true
    case .google: body.parameters.count == 2
    case .pledge: body.hasParameters
    }
  }

  /// `Promise { resolver in … }`: the closure runs inside the call; Google's, on its queue.
  ///
  /// It gets the resolver, or those of its methods that `methods` names.
  private func withResolver(
    _ body: Body, _ methods: [String], _ arguments: [Expr.Argument], _ library: Library,
    _ state: State,
    canFail: Bool = true
  ) throws -> Values {
    var state = state
    let id = state.addPromise(canFail: canFail && !body.onlyFulfills)
    let parameters =
      methods.isEmpty ? [.resolver(id)] : methods.map { Value.resolverMethod(id, $0) }
    let outer = (state.list, state.executor, state.priority)
    if library == .google {
      state.list = state.startList(.dispatched)
      state = moved(to: arguments.first { $0.label == "on" }?.value, library, state)
    }
    let count = state.events.count
    return try invoke(body, parameters, state, isEffect: true).map { state, value, flow in
      var state = state
      for index in state.events.indices.dropFirst(count) where state.events[index].kind == .call {
        state.events[index].isEffect = true
      }
      let list = state.list
      (state.list, state.executor, state.priority) = outer
      if state.promises[id].list == nil, list != outer.0 { state.promises[id].list = list }
      if case .thrown(let error)? = flow {
        if state.promises[id].outcome == nil { state.promises[id].outcome = .rejected(error) }
        return (state, .promise(id), nil)
      }
      return (state, .promise(id), flow)
    }
  }

  /// `Promise { … }` with a closure that returns the value: Google's runs on its queue, Pledge's in
  /// a task.
  private func work(
    _ body: Body, _ arguments: [Expr.Argument], _ library: Library, _ state: State
  ) throws -> Values {
    var state = state
    let outer = (state.list, state.executor, state.priority)
    state.list = state.startList(library == .google ? .dispatched : .task)
    let list = state.list
    state = moved(to: arguments.first { $0.label == "on" }?.value, library, state)
    return try invoke(body, [], state).map { state, value, flow in
      var state = state
      (state.list, state.executor, state.priority) = outer
      if case .thrown(let error)? = flow { return state.withPromise(.rejected(error), list: list) }
      // The promise takes the result of one that the closure returns.
      return body.writtenResult.map { guessType($0).isThenable } ?? false
        ? state.withPromise(source: value, list: list)
        : state.withPromise(.fulfilled(value ?? .nothing), list: list)
    }
  }

  /// A state on the executor of a handler, with its priority.
  func moved(to written: Expr?, _ library: Library, _ state: State) -> State {
    var state = state
    if let written {
      let text = (try? evaluate(written, state).first?.1)?.text
      state.executor = text.map(Self.executor) ?? .callback
      state.priority = text.flatMap(Self.priority) ?? state.priority
    } else if library == .pledge {
      state.executor = state.executor == .main || home == .main ? .main : .pool
    } else {
      let other = library == .google ? Executor.queue(".promises") : .callback
      state.executor = declarations.setsDefaultQueue ? other : .main
    }
    return state
  }

  /// `.value(x)`, `.pending()`, `.init(error:)`, and Pledge's static functions, which are global ones
  /// in the other libraries.
  func knownMember(
    _ name: String, _ arguments: [Expr.Argument], _ expression: Expr, _ state: State
  ) throws -> Values? {
    guard let library else { return nil }
    var state = state
    switch name {
    case "value", "rejected":
      guard let first = arguments.first else { return nil }
      return try evaluate(first.value, state).map { state, value, flow in
        if let flow { return (state, nil, flow) }
        let value = value ?? .nothing
        let outcome: Outcome = name == "value" ? .fulfilled(value) : .rejected(value)
        return state.withPromise(outcome)
      }
    case "pending", "withResolvers":
      let id = state.addPromise()
      if library == .google { return [(state, .promise(id), nil)] }
      return [(state, .tuple([.promise(id), .resolver(id)]), nil)]
    case "init" where arguments.first?.label == "error":
      return try create(arguments, .promiseKit, state)
    default:
      guard library == .pledge else { return nil }
      if let known = try promiseFunction(name, arguments, expression, library, state) {
        return known
      }
      guard name == "after" || Self.unfollowed.contains(name) else { return nil }
      let arguments = arguments.filter { $0.label != "clock" }
      return try all(arguments.map(\.value)[...], state, []).flatMap {
        state, values, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        let results = try opaque(
          name, arguments.map(\.label), values ?? [], expression, state, isEffect: true)
        // A pause can't fail.
        return results.map { state, value, _ in
          var state = state
          let id = state.addPromise(source: value, canFail: name != "after")
          return (state, .promise(id), nil)
        }
      }
    }
  }

  func continuation(
    _ arguments: [Expr.Argument], _ state: State, canThrow: Bool
  ) throws -> Values? {
    guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
    var state = state
    let id = state.addPromise(canFail: canThrow && !body.onlyFulfills)
    state.promises[id].isContinuation = true
    let count = state.events.count
    let lists = state.lists.count
    return try invoke(body, [.resolver(id)], state, isEffect: true).map { state, _, flow in
      var state = state
      // A callback of a block that was sent to a queue resumes it: the block has run by then.
      if state.promises[id].outcome == nil {
        state.promises[id].list =
          state.promises[id].list
          ?? state.lists.indices.dropFirst(lists).first { state.lists[$0].kind == .dispatched }
      }
      for index in state.events.indices.dropFirst(count) where state.events[index].kind == .call {
        state.events[index].isEffect = true
      }
      return (state, .promise(id), flow)
    }
  }

  // MARK: Resolvers

  /// Settles a promise or resumes a continuation.
  func resolve(
    _ id: Int, _ name: String, _ labels: [String?], _ values: [Value], _ place: Place,
    _ state: State
  ) throws -> Values {
    let first = values.first ?? .nothing
    switch name {
    case "reject": return settle(id, .rejected(first), place, state)
    case "fulfill_", "fulfill": return settle(id, .fulfilled(first), place, state)
    case "resume":
      switch labels.first ?? nil {
      case "throwing": return settle(id, .rejected(first), place, state)
      case "with": return try resolve(id, result: first, place, state)
      default: return settle(id, .fulfilled(first), place, state)
      }
    case "resolve":
      if values.count == 2 {
        let isErrorFirst = values[0].text.lowercased().contains("err")
        let (value, error) = isErrorFirst ? (values[1], values[0]) : (values[0], values[1])
        return try decide("\(error.text) != nil", state).flatMap { state, fails -> Values in
          if fails { return settle(id, .rejected(error), place, state) }
          let answers =
            value.text == "()"
            ? [(state, true)] : try decide("\(value.text) != nil", state)
          return answers.flatMap { state, isThere in
            settle(
              id,
              isThere ? .fulfilled(value) : .rejected(.plain("PMKError.invalidCallingConvention")),
              place, state)
          }
        }
      }
      if first.text == "nil" { return settle(id, .fulfilled(.nothing), place, state) }
      if first.text.lowercased().contains("err") {
        return try decide("\(first.text) != nil", state).flatMap { state, fails in
          settle(id, fails ? .rejected(first) : .fulfilled(.nothing), place, state)
        }
      }
      return try resolve(id, result: first, place, state)
    default:
      return [(state, .plain("resolver.\(name)"), nil)]
    }
  }

  /// `promise.pipe(to: resolver.resolve)`; nil for other functions.
  func pipe(
    _ promise: Value, _ target: Expr, _ place: Place, _ state: State
  ) throws -> Values? {
    guard case .resolverMethod(let id, _)? = try evaluate(target, state).first?.1 else {
      return nil
    }
    var state = state
    let outer = state.list
    if outer == 0 { state.list = state.startList(.chain) }
    return try settle(promise, state).flatMap { state, outcome in
      settle(id, outcome, place, state).map { state, value, flow in
        var state = state
        state.list = outer
        return (state, value, flow)
      }
    }
  }

  private func resolve(
    _ id: Int, result: Value, _ place: Place, _ state: State
  ) throws -> Values {
    for (name, succeeds) in [
      (".fulfilled(", true), (".success(", true), (".rejected(", false), (".failure(", false),
    ] where result.text.hasPrefix(name) && result.text.hasSuffix(")") {
      let value = Value.plain(String(result.text.dropFirst(name.count).dropLast()))
      return settle(id, succeeds ? .fulfilled(value) : .rejected(value), place, state)
    }
    return try decide("\(result.text) ~ .success", state).flatMap { state, succeeds in
      settle(
        id,
        succeeds
          ? .fulfilled(.plain("\(result.text)[.success]"))
          : .rejected(.plain("\(result.text)[.failure]")), place, state)
    }
  }

  private func settle(_ id: Int, _ outcome: Outcome, _ place: Place, _ state: State) -> Values {
    var state = state
    let text =
      switch outcome {
      case .fulfilled(let value): "fulfill(\(value.text))"
      case .rejected(let error): "reject(\(error.text))"
      }
    if id == PromiseState.stored {
      if state.lists[state.list].kind == .task { state.isVague = true }
      record(
        .settle, key: text, subject: "resolver", values: "stored", at: place, isEffect: true,
        in: &state)
      return [(state, .nothing, nil)]
    }
    let isOuter = id < state.outerPromises
    let promise = state.promises[id]
    if promise.isContinuation, state.lists[state.list].kind == .task { state.isVague = true }
    if !isOuter, promise.outcome == nil {
      state.promises[id].outcome = outcome
      if state.list != 0 { state.promises[id].list = state.list }
      return [(state, .nothing, nil)]
    }
    // A promise ignores a second settlement.
    let hasSettled = state.events.contains { $0.kind == .settle && $0.values == "\(id)" }
    if promise.isContinuation || (isOuter && !hasSettled) {
      record(
        .settle, key: text, subject: "resolver",
        values: "\(id)", at: place, isEffect: true, in: &state)
      state.events[state.events.count - 1].isContinuation = promise.isContinuation
    }
    return [(state, .nothing, nil)]
  }

  // MARK: Combinators

  /// `race` of work and a pause that fails; nil for other races.
  private func race(_ arguments: [Expr.Argument], _ state: State) throws -> Values? {
    guard arguments.count == 2 else { return nil }
    let results = try all(arguments.map(\.value)[...], state, [])
    guard let state = results.first?.0, let values = results.first?.1, results.count == 1,
      let timer = values.firstIndex(where: { state.pause($0) != nil }),
      let pause = state.pause(values[timer])
    else { return nil }
    return try settle(values[1 - timer], state).flatMap { state, work in
      try decide("passes: \(pause)", state).flatMap { state, isLate -> Values in
        try (isLate ? settle(values[timer], state) : [(state, work)]).map { state, outcome in
          state.withPromise(outcome)
        }
      }
    }
  }

  private func combine(
    _ arguments: [Expr.Argument], _ state: State, ignoresErrors: Bool = false
  ) throws -> Values {
    let inputs = arguments.filter { !["concurrently", "on"].contains($0.label ?? "") }
    let ignoresErrors = ignoresErrors || arguments.first?.label == "resolved"
    return try all(inputs.map(\.value)[...], state, []).flatMap { state, values, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      var values = values ?? []
      var array: List?
      if values.count == 1, case .list(let only) = values[0] {
        array = only
        values = only.elements
      }
      var state = state
      let outer = state.list
      state.list = state.startList(.chain)
      let list = state.list
      return try settleAll(
        values[...], state, [], ignoresErrors: ignoresErrors,
        canFail: arguments.first?.label != "guarantees"
      ).map {
        state, results, flow in
        var state = state
        state.list = outer
        var value = results.map { $0.count == 1 ? $0[0] : .tuple($0) } ?? .nothing
        if var array, let results {
          array.elements = results
          value = .list(array)
        }
        var outcome = Outcome.fulfilled(value)
        if case .thrown(let error)? = flow { outcome = .rejected(error) }
        return state.withPromise(outcome, list: list)
      }
    }
  }
}
