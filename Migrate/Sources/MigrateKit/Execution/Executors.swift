import Foundation

/// Where code runs: queues, tasks, and the isolation of functions.
extension Machine {
  // MARK: Queues

  func queueMethod(
    _ base: Expr, _ name: String, _ arguments: [Expr.Argument], _ state: State
  ) throws -> Values? {
    // A function with which the tree extends queues to run a closure and give its result.
    let isAdded =
      declarations.byName[name]?.contains {
        $0.owner == "DispatchQueue" && ($0.isAsync || $0.type.isThenable)
          && $0.parameters.count == 1
      } ?? false
    guard let body = try work(arguments, state) else { return nil }
    if name.hasPrefix("withLock"), declarations.byName[name] == nil {
      return try withLock(base, body, state)
    }
    // Core Data's contexts have queues.
    let isOfContext =
      ["perform", "performAndWait"].contains(name) && arguments.count == 1 && !body.hasParameters
    guard ["async", "sync", "asyncAfter"].contains(name) || isAdded || isOfContext else {
      return nil
    }
    return try evaluate(base, state).flatMap { state, value, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      let executor = Self.executor(named: value?.text ?? "")
      var state = state
      if executor == .pool { state.events.removeAll { $0.key == value?.text } }
      let isPromise =
        isAdded || name == "perform" && state.isInAwait
        || arguments.contains {
          if case .member(nil, "promise") = $0.value.kind { true } else { false }
        }
      let outer = (state.list, state.executor, state.priority)
      state.list = state.startList(.dispatched)
      let list = state.list
      state.executor = executor
      if name == "asyncAfter" {
        guard let pause = try pause(until: arguments[0].value, state) else { return [] }
        state = pause
      }
      state.priority = Self.priority(ofQueue: value?.text ?? "") ?? state.priority
      return try invoke(body, [], state, isEffect: !isPromise).map { state, value, flow in
        var state = state
        (state.list, state.executor, state.priority) = outer
        if ["sync", "performAndWait"].contains(name) {
          state.join(list)
          return (state, value, flow)
        }
        guard isPromise else { return (state, .nothing, nil) }
        var outcome = Outcome.fulfilled(value ?? .nothing)
        if case .thrown(let error)? = flow { outcome = .rejected(error) }
        return state.withPromise(outcome, list: list)
      }
    }
  }

  /// The block that a queue gets: a closure, or a work item with one.
  private func work(_ arguments: [Expr.Argument], _ state: State) throws -> Body? {
    guard let last = arguments.last else { return nil }
    if case .closure(let body) = last.value.kind { return body }
    guard last.label == "execute",
      case .closure(let body)? = try evaluate(last.value, state).first?.1
    else { return nil }
    return body
  }

  /// `lock.withLock { … }`, and `mutex.withLock { value in … }`.
  private func withLock(_ base: Expr, _ body: Body, _ state: State) throws -> Values {
    func call(_ name: String, _ state: State) throws -> Values {
      if body.hasParameters { return [(state, .nothing, nil)] }
      let method = Expr(.member(base, name), base.place)
      return try evaluate(Expr(.call(method, []), base.place), state, isEffect: true)
    }
    return try call("lock", state).flatMap { state, _, _ in
      try evaluate(base, state).flatMap { state, value, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        return try invoke(body, [value ?? .nothing], state).flatMap { state, value, flow in
          try call("unlock", state).map { state, _, _ in (state, value, flow) }
        }
      }
    }
  }

  /// A state after the pause in `asyncAfter(deadline: .now() + seconds)`.
  private func pause(until deadline: Expr, _ state: State) throws -> State? {
    var delay = deadline
    if case .compound(let pieces) = deadline.kind, pieces.count == 3, case .text("+") = pieces[1],
      case .expression(let added) = pieces[2]
    {
      delay = added
    }
    guard let (state, value, _) = try evaluate(delay, state).first else { return nil }
    var result = try opaque(
      "after", ["seconds"], [value ?? .nothing], Expr(.literal(""), deadline.place), state,
      isEffect: true
    ).first?.0
    // What waits for the block waits for the pause.
    if let last = result?.events.indices.last { result?.events[last].needsNoWait = true }
    return result
  }

  /// The executor that an expression for a queue names.
  static func executor(named text: String) -> Executor {
    let plain = text.filter { !$0.isWhitespace }
    if ["DispatchQueue.main", ".main", "MainActor.shared"].contains(plain) { return .main }
    if plain.hasPrefix("DispatchQueue.global") || plain.hasPrefix(".global") { return .pool }
    if plain == "nil" || plain == ".immediate" { return .callback }
    return .queue(plain)
  }

  /// The priority in an expression for a global queue, such as `.global(qos: .utility)`.
  static func priority(ofQueue text: String) -> String? {
    let plain = text.filter { !$0.isWhitespace }
    guard let mark = plain.range(of: "(qos:.") else { return nil }
    return priority(named: String(plain[mark.upperBound...].prefix { $0.isLetter }))
  }

  /// One name for the priorities that have two; the usual one has none.
  private static func priority(named name: String) -> String {
    ["high": "userInitiated", "low": "utility", "medium": "", "default": ""][name] ?? name
  }

  func within(
    _ executor: Executor, _ state: State, _ work: (State) throws -> Values
  ) throws -> Values {
    var state = state
    let outer = state.executor
    state.executor = executor
    return try work(state).map { state, value, flow in
      var state = state
      state.executor = outer == .caller ? (home == .caller ? .pool : home) : outer
      return (state, value, flow)
    }
  }

  // MARK: Tasks

  func spawn(
    _ arguments: [Expr.Argument], _ expression: Expr, _ state: State, isDetached: Bool
  ) throws -> Values? {
    guard case .closure(let body)? = arguments.last?.value.kind else { return nil }
    var state = state
    let outer = (state.list, state.executor, state.priority, state.loops)
    state.list = state.startList(.task)
    let list = state.list
    if let queue = arguments.first(where: { $0.label == "on" })?.value {
      state = moved(to: queue, library ?? .promiseKit, state)
    } else if isDetached {
      state.executor = .pool
    } else if state.executor == .caller || state.executor == .callback {
      state.executor = home == .caller || home == .callback ? .pool : home
    } else if case .queue = state.executor {
      state.executor = .pool
    }
    if let priority = arguments.first(where: { $0.label == "priority" })?.value,
      case .member(_, let name) = priority.kind
    {
      state.priority = Self.priority(named: name)
    }
    return try invoke(body, [], state, isEffect: true).map { state, value, flow in
      var state = state
      (state.list, state.executor, state.priority, state.loops) = outer
      var outcome = Outcome.fulfilled(value ?? .nothing)
      if case .thrown(let error)? = flow { outcome = .rejected(error) }
      return state.withPromise(outcome, list: list)
    }
  }
}

/// Where the code of a function runs before it waits.
func startExecutor(
  of function: FunctionDeclaration, _ declarations: Declarations
) -> Executor {
  if function.attributes.contains("MainActor") { return .main }
  if let name = function.attributes.first(where: { $0.hasSuffix("Actor") }) { return .actor(name) }
  if function.attributes.contains("nonisolated") { return function.isAsync ? .pool : .caller }
  if !function.owner.isEmpty {
    if declarations.isMainActor(type: function.owner) { return .main }
    if declarations.isActor(type: function.owner) { return .actor(function.owner) }
  }
  if declarations.settings.isMainActorByDefault { return .main }
  if function.isAsync, !declarations.settings.isNonsendingByDefault { return .pool }
  return .caller
}
