extension Machine {
  /// Applies an operator to a promise: its handler belongs to the work that follows the promise.
  func chain(_ link: Link, _ state: State) throws -> Values {
    try evaluate(link.base, state).flatMap { state, value, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      let base = value ?? .nothing
      switch link.role {
      case .toAsync: return [(state, base, nil)]
      case .wait: return try blocking(base, nil, link.place, state)
      default: break
      }
      var state = state
      let outer = (state.list, state.executor, state.loops, state.priority)
      state.list = continuedList(base, &state)
      let list = state.list
      return try settle(base, state, canFail: !link.baseIsGuarantee).flatMap {
        state, outcome -> Values in
        var state = state
        state = moved(to: link.executor, link.library, state)
        return try handle(link, outcome, state).map { state, outcome, flow in
          var state = state
          (state.list, state.executor, state.loops, state.priority) = outer
          if case .crashed? = flow {
            return state.withPromise(.rejected(.plain("crash")), list: list)
          }
          if let flow { return (state, nil, flow) }
          let id = state.addPromise(outcome, list: list)
          state.promises[id].isEnd = link.library != .google && link.role.endsChain
          return (state, .promise(id), nil)
        }
      }
    }
  }

  /// The list of the handlers before this one, or a new one.
  private func continuedList(_ base: Value, _ state: inout State) -> Int {
    if case .promise(let id) = base, let list = state.promises[id].list, list != state.list {
      return list
    }
    return state.startList(.chain)
  }

  private typealias Handled = [(State, Outcome, Flow?)]

  private func handle(_ link: Link, _ outcome: Outcome, _ state: State) throws -> Handled {
    // The program has crashed in a handler before this one.
    if case .rejected(.plain("crash")) = outcome { return [(state, outcome, nil)] }
    if isLinear, link.role.handlesErrorsOnly, case .fulfilled = outcome {
      // What the handler does is recorded; then the code continues.
      return try call(link, [.plain("error")], state, isEffect: true).prefix(1).map {
        ($0.0, link.role == .catchError ? .fulfilled(.nothing) : outcome, nil)
      }
    }
    switch (link.role, outcome) {
    case (.then, .fulfilled(let value)):
      let isCertain = link.library != .google || !(link.handler?.mayReturnPromise ?? false)
      return try adopt(
        try call(link, [value], state, isEffect: link.library == .google),
        isCertain: isCertain || link.overload != nil
      ) { state, result in
        if link.overload == .value { return .fulfilled(result) }
        if link.overload == .nothing { return .fulfilled(value) }
        if link.overload == nil, link.library == .google, link.handler?.returnsValue ?? false {
          let hasValue = link.handler?.resultOfClosure.flatMap(declarations.hasValue) ?? true
          return .fulfilled(hasValue ? result : value)
        }
        // Google's `then` with a handler that returns nothing passes the value on.
        if link.library == .google, result.isNothing, !value.isNothing { return .fulfilled(value) }
        return nil
      }.map { state, outcome, flow in
        guard link.library == .google, link.overload == nil,
          let result = link.handler?.resultOfClosure,
          declarations.hasValue(result) == nil, case .fulfilled(.plain(let text)) = outcome
        else { return (state, outcome, flow) }
        var state = state
        state.doubts[text] = value.text
        return (state, outcome, flow)
      }
    case (.map, .fulfilled(let value)):
      return settled(try call(link, [value], state)) { $0 }
    case (.compactMap, .fulfilled(let value)):
      let isNeverNil = link.handler?.isNeverNil(declarations) ?? false
      return try settled(try call(link, [value], state)) { $0 }.flatMap {
        state, outcome, flow -> Handled in
        guard case .fulfilled(let value) = outcome, flow == nil, !isNeverNil else {
          return [(state, outcome, flow)]
        }
        return try isPresent(value, state).map { state, isThere in
          (state, isThere ? .fulfilled(value) : .rejected(.plain("PMKError.compactMap")), nil)
        }
      }
    case (.done, .fulfilled(let value)):
      return settled(try call(link, [value], state, isEffect: true)) { _ in .nothing }
    case (.get, .fulfilled(let value)):
      return settled(try call(link, [value], state, isEffect: true)) { _ in value }
    case (.asVoid, .fulfilled):
      return [(state, .fulfilled(.nothing), nil)]
    case (.recover, .rejected(let error)) where ["mapError", "replaceError"].contains(link.name):
      return try unlessOther(link, error, state) { state in
        settled(try call(link, [error], state)) { $0 }.map { state, outcome, flow in
          guard link.name == "mapError", case .fulfilled(let other) = outcome else {
            return (state, outcome, flow)
          }
          return (state, .rejected(other), flow)
        }
      }
    case (.catchError, .rejected(let error)):
      return try unlessOther(link, error, state) { state in
        settled(try call(link, [error], state, isEffect: true)) { _ in .nothing }
      }
    case (.cauterize, .rejected(let error)) where link.library == .promiseKit:
      return try unlessOther(link, error, state) { state in
        settled(
          try opaque(
            "conf.logHandler", [nil], [.plain(".cauterized(\(error.text))")],
            Expr(.literal(""), link.place), state, isEffect: true)
        ) { _ in .nothing }
      }
    case (.catchError, .fulfilled), (.cauterize, _):
      return [(state, .fulfilled(.nothing), nil)]
    case (.catchAndPass, .rejected(let error)):
      return settled(try call(link, [error], state, isEffect: true)) { _ in .nothing }
        .map { ($0.0, .rejected(error), $0.2) }
    case (.recover, .rejected(let error)):
      let isPromise = link.library == .pledge
      return try unlessOther(link, error, state) { state in
        try adopt(
          try call(link, [error], state),
          isCertain: isPromise || !(link.handler?.mayReturnPromise ?? false)
        ) { _, result in
          !isPromise && link.handler?.returnsValue ?? false ? .fulfilled(result) : nil
        }
      }
    case (.finally, _):
      return try call(link, [], state, isEffect: true).flatMap { state, value, flow -> Handled in
        if case .crashed? = flow { return [(state, outcome, flow)] }
        guard link.name == "ensureThen" || link.library == .pledge, let value else {
          return [(state, outcome, nil)]
        }
        return try settle(value, state, canFail: false).map { ($0.0, outcome, nil) }
      }
    case (.tap, _):
      let text =
        switch outcome {
        case .fulfilled(let value): ".success(\(value.text))"
        case .rejected(let error): ".failure(\(error.text))"
        }
      return try call(link, [.plain(text)], state, isEffect: true).map { ($0.0, outcome, nil) }
    case (.eachValue, .fulfilled(let value)):
      return try eachValue(link, value, state)
    case (.eachPromise, .fulfilled(let value)):
      return try eachPromise(link, value, state)
    case (.policy, _) where link.name == "timeout" && link.library != .promiseKit:
      return try late(link, outcome, state)
    case (.policy, _) where link.name == "validate" && link.library != .promiseKit:
      var state = state
      let failure = link.library == .google ? "validationFailure" : "validationFailed"
      state.ownErrors.insert(failure[...])
      guard case .fulfilled(let value) = outcome else { return [(state, outcome, nil)] }
      guard let handler = link.handler else { return [(state, outcome, nil)] }
      return try holds(handler, value, state).map { state, holds, flow in
        (state, holds ? outcome : .rejected(.plain("PromiseError.\(failure)")), flow)
      }
    case (.policy, .fulfilled) where link.name == "delay" && link.library != .promiseKit:
      guard let delay = link.duration else { return [(state, outcome, nil)] }
      return try evaluate(delay, state).flatMap { state, value, _ in
        try opaque(
          "after", ["seconds"], [value ?? .nothing], Expr(.literal(""), link.place), state,
          isEffect: true
        ).map { ($0.0, outcome, nil) }
      }
    case (.policy, .fulfilled(let value)):
      return try opaque(
        "\(value.text).\(link.name)", link.arguments.map(\.label),
        link.arguments.map { _ in .plain("…") },
        Expr(.literal(""), link.place), state, isEffect: true
      ).flatMap { state, _, _ in
        try failing("\(value.text).\(link.name)", value, state).map { state, value, flow in
          if case .thrown(let error)? = flow { return (state, .rejected(error), nil) }
          return (state, .fulfilled(value ?? .nothing), nil)
        }
      }
    default:
      return [(state, outcome, nil)]
    }
  }

  /// Calls the handler of a link.
  private func call(
    _ link: Link, _ arguments: [Value], _ state: State, isEffect: Bool = false
  ) throws -> Values {
    guard let handler = link.handler else { return [(state, .nothing, nil)] }
    return try call(handler, arguments, state, isEffect: isEffect)
  }

  /// Calls a closure, or a key path or a function in place of one.
  func call(
    _ handler: Expr, _ arguments: [Value], _ state: State, isEffect: Bool = false
  ) throws -> Values {
    switch handler.kind {
    case .closure(let body):
      return try evaluate(handler, state).flatMap {
        try invoke(body, arguments, $0.0, isEffect: isEffect)
      }
    case .keyPath(let path):
      let value = path.filter { $0 != "?" }.split(separator: ".").reduce(
        arguments.first ?? .nothing
      ) { $1 == "self" ? $0 : member($0, String($1)) }
      return [(state, value, nil)]
    case .name("+") where arguments.count == 2:
      return [(state, sum(arguments[0], arguments[1], loops: state.loops), nil)]
    default:
      return try evaluate(handler, state).flatMap { state, function, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        let function = function ?? .nothing
        switch function {
        case .closure(let body):
          return try invoke(body, arguments, state, isEffect: isEffect)
        case .resolverMethod(let id, let name):
          return try resolve(id, name, [nil], arguments, handler.place, state)
        case .resolver(let id):
          return try resolve(id, "fulfill", [nil], arguments, handler.place, state)
        default:
          let arguments = spread(arguments, over: function.text)
          let (name, labels) = labelled(function.text, arguments.count)
          if let known = inlined(name) {
            return try enter(known.0, known.1, arguments, handler, state, isEffect: isEffect)
          }
          return try opaque(
            name, labels ?? arguments.map { _ in nil }, arguments, handler, state,
            isEffect: isEffect, isUnlabelled: labels == nil)
        }
      }
    }
  }

  /// The parts of a tuple that is passed to a function with a parameter for each.
  private func spread(_ arguments: [Value], over name: String) -> [Value] {
    guard arguments.count == 1, let known = declarations.byName[name], known.count == 1,
      known[0].parameters.count > 1
    else { return arguments }
    return known[0].parameters.indices.map { member(arguments[0], String($0)) }
  }

  /// The name and the labels in a reference to a function, such as `Row.init(number:)`; nil for
  /// labels that neither the reference nor a declaration says.
  private func labelled(_ text: String, _ count: Int) -> (String, [String?]?) {
    var name = text[...]
    var labels: [String?]?
    if text.hasSuffix(":)"), let open = text.lastIndex(of: "(") {
      name = text[..<open]
      labels = text[open...].dropFirst().dropLast(2).components(separatedBy: ":")
        .map { $0 == "_" ? nil : $0 }
    }
    if name.hasSuffix(".init") { name = name.dropLast(5) }
    if labels == nil, let known = declarations.byName[String(name)], known.count == 1,
      known[0].labels.count == count
    {
      labels = known[0].labels.map { $0 == "_" ? nil : $0 }
    }
    return (String(name), labels)
  }

  /// `timeout`: the error of a pause that ends before the promise settles.
  private func late(_ link: Link, _ outcome: Outcome, _ state: State) throws -> Handled {
    guard let limit = link.duration else { return [(state, outcome, nil)] }
    var state = state
    if link.library == .google { state.ownErrors.insert("timedOut") }
    let error = link.library == .google ? "PromiseError.timedOut" : "TimeoutError"
    return try evaluate(limit, state).flatMap { state, value, flow -> Handled in
      try passes(value ?? .nothing, link.place, state).map { state, isLate in
        (state, isLate ? .rejected(.plain(error)) : outcome, flow)
      }
    }
  }

  /// Whether a time passes before what is waited for has ended.
  func passes(_ seconds: Value, _ place: Place, _ state: State) throws -> [(State, Bool)] {
    try opaque(
      "after", ["seconds"], [seconds], Expr(.literal(""), place), state, isEffect: true
    ).flatMap { state, pause, _ -> [(State, Bool)] in
      var state = state
      // What waits for the result waits for the pause.
      if let last = state.events.indices.last { state.events[last].needsNoWait = true }
      return try decide("passes: \(pause?.text ?? "")", state)
    }
  }

  private func settled(_ results: Values, _ transform: (Value) -> Value) -> Handled {
    results.map { state, value, flow in
      switch flow {
      case .thrown(let error)?: (state, .rejected(error), nil)
      case let flow?: (state, .fulfilled(.nothing), flow)
      case nil: (state, .fulfilled(transform(value ?? .nothing)), nil)
      }
    }
  }

  /// Waits for the promises that a handler returns; it isn't always certain that these are promises.
  private func adopt(
    _ results: Values, isCertain: Bool = true, _ special: (State, Value) -> Outcome?
  ) throws -> Handled {
    try results.flatMap { state, value, flow -> Handled in
      switch flow {
      case .thrown(let error)?: return [(state, .rejected(error), nil)]
      case let flow?: return [(state, .fulfilled(.nothing), flow)]
      case nil:
        let value = value ?? .nothing
        if let outcome = special(state, value) { return [(state, outcome, nil)] }
        // A value, and not a call or a property whose promise is adopted.
        if case .plain(let text) = value, !text.contains("("),
          declarations.typeName(ofProperty: text, in: owner).map({ !guessType($0).isThenable })
            ?? true
        {
          return [(state, .fulfilled(value), nil)]
        }
        if case .elements = value { return [(state, .fulfilled(value), nil)] }
        return try settle(value, state).map { state, outcome in
          var state = state
          if !isCertain, case .plain(let text) = value { state.doubtWait(for: text) }
          return (state, outcome, nil)
        }
      }
    }
  }

  /// PromiseKit's handlers aren't called for cancellations, unless a policy says so, and those of an
  /// operator with `only:` aren't called for other errors.
  private func unlessOther(
    _ link: Link, _ error: Value, _ state: State, _ work: (State) throws -> Handled
  ) throws -> Handled {
    var states = [(state, true)]
    if link.skipsCancellations {
      states = try decide("\(error.text).isCancelled", state).map { ($0, !$1) }
    } else if let only = link.arguments.first(where: { $0.label == "only" })?.value.sourceText {
      let name = only.drop { $0 != "." }
      let pattern = name == ".self" ? "is \(only.dropLast(5))" : String(name)
      states = try matches(error.text, pattern, state)
    }
    return try states.flatMap { state, isHandled -> Handled in
      if isHandled { return try work(state) }
      let ends = link.skipsCancellations && link.role != .recover
      return [(state, ends ? .fulfilled(.nothing) : .rejected(error), nil)]
    }
  }

  // MARK: Elements

  private func eachValue(_ link: Link, _ value: Value, _ state: State) throws -> Handled {
    let name = link.name.replacingSuffix("Values", "").replacingSuffix("Value", "")
    let function = member(value, name)
    guard let handler = link.handler else { return [(state, .fulfilled(function), nil)] }
    let argument = Expr.Argument(label: Declarations.trailing, value: handler)
    if let results = try elementwise(value, name, [argument], state) {
      return settled(results) { $0 }
    }
    guard case .closure(let body) = handler.kind else {
      return [(state, .fulfilled(function), nil)]
    }
    return settled(
      try opaque(
        function.text, [Declarations.trailing], [.closure(body)], handler, state,
        isEffect: false)
    ) { $0 }
  }

  /// `promise.reduce(collection) { partial, element in … }`, one element after the other.
  private func reduce(_ link: Link, _ first: Value, _ state: State) throws -> Handled {
    guard let collection = link.arguments.first(where: { $0.label == nil })?.value else {
      return [(state, .fulfilled(first), nil)]
    }
    return try evaluate(collection, state).flatMap { state, value, _ -> Handled in
      let elements = Elements(value ?? .nothing)
      var state = state
      state.loops.append(elements.source)
      return try adopt(try call(link, [first, elements.element], state)) { _, _ in nil }
    }
  }

  private func eachPromise(_ link: Link, _ value: Value, _ state: State) throws -> Handled {
    if link.name == "reduce" { return try reduce(link, value, state) }
    if value.isEmptyList { return [(state, .fulfilled(value), nil)] }
    var state = state
    var elements = Elements(value)
    state.loops.append(elements.source)
    return try adopt(try call(link, [elements.element], state)) { _, _ in nil }.map {
      state, outcome, flow in
      var state = state
      for index in state.events.indices where state.events[index].loops == state.loops {
        state.events[index].isParallel = true
      }
      guard case .fulfilled(let element) = outcome else { return (state, outcome, flow) }
      elements.element = element
      return (state, .fulfilled(.elements(elements)), flow)
    }
  }
}

extension Link {
  /// How long a `delay` or `timeout` takes.
  fileprivate var duration: Expr? {
    arguments.last { !["on", "clock"].contains($0.label) }?.value
  }
}

extension String {
  fileprivate func replacingSuffix(_ suffix: String, _ other: String) -> String {
    hasSuffix(suffix) && count > suffix.count ? dropLast(suffix.count) + other : self
  }
}
