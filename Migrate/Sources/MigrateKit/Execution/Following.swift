/// Calls of functions that exist in one version only: their bodies are executed in place of them.
extension Machine {
  /// Enters an operator that the tree adds to promises or their results.
  func addedOperator(
    _ known: (FunctionDeclaration, Body), _ promise: Value, _ arguments: [Expr.Argument],
    _ expression: Expr, _ state: State
  ) throws -> Values {
    try all(arguments.map(\.value)[...], state, []).flatMap { state, values, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      return try enter(
        known.0, known.1, values ?? [], expression, state, isEffect: false, receiver: promise)
    }
  }

  /// The method that a call such as `writer.write` calls, if it exists on this side only.
  func method(_ text: String) -> (FunctionDeclaration, Body)? {
    guard let dot = text.lastIndex(of: "."),
      let type = declarations.typeName(ofProperty: String(text[..<dot])),
      let known = inlined(String(text[text.index(after: dot)...]), in: type),
      known.0.isOwned(by: type)
    else { return nil }
    return known
  }

  /// Enters a function that exists on this side only: an extracted one, or one that was replaced.
  func enter(
    _ function: FunctionDeclaration, _ body: Body, _ values: [Value], _ expression: Expr,
    _ state: State, isEffect: Bool, receiver: Value? = nil, names added: [String: Value] = [:]
  ) throws -> Values {
    var state = state
    let before = state.executor
    let start = startExecutor(of: function, declarations)
    // `await` calls a function there that isn't `async`, too.
    var hops = start == .main
    if case .actor = start { hops = true }
    if hops {
      state.executor = start
    } else if function.isAsync {
      state.executor = resumedPool(state)
    }
    let identity = ObjectIdentifier(function)
    entered.insert(identity)
    defer { entered.remove(identity) }
    // The function sees none of its caller's names.
    var names = state.environment.filter { $0.key == "self" || $0.key == Self.ownerOfSelf }
    if let receiver {
      names = ["self": receiver, Self.ownerOfSelf: .plain(function.owner)]
    }
    // The generic parameters that the arguments or the result choose: `T` for `Row.self` as a `T.Type`.
    if function.isGeneric(over: function.plainResult) {
      names[function.plainResult] = .plain(result)
    }
    for (parameter, value) in zip(function.parameters, values)
    where parameter.type.hasSuffix(".Type") && value.text.hasSuffix(".self") {
      names[String(parameter.type.dropLast(5))] = .plain(String(value.text.dropLast(5)))
    }
    names.merge(added) { $1 }
    var values = values
    if case .call(_, let arguments) = expression.kind, arguments.count == values.count,
      values.count < function.parameters.count
    {
      // Arguments that the call leaves out.
      let given = declarations.positions(of: arguments.map { $0.label ?? "_" }, in: function)
      values = function.parameters.indices.map { index in
        given[index].map { values[$0] }
          ?? .plain(function.defaultValue(at: index)?.trimmedDescription ?? "unset")
      }
    }
    state.homes[ObjectIdentifier(body)] = state.addScope(names)
    return try invoke(body, values, state, isEffect: isEffect).map { state, value, flow in
      var state = state
      if function.isAsync {
        state.executor = before == .caller ? .pool : before
      } else if hops {
        state.executor = before
      }
      return (state, value, flow)
    }
  }

  /// Enters an initializer that exists on this side only: to set the members of a new object is no
  /// effect.
  func initialize(
    _ known: (FunctionDeclaration, Body), _ object: Value, _ values: [Value], _ expression: Expr,
    _ state: State
  ) throws -> Values {
    let count = state.events.count
    return try enter(
      known.0, known.1, values, expression, state, isEffect: true, receiver: object
    ).map { state, _, flow in
      var state = state
      let inside = state.events.dropFirst(count).filter {
        $0.kind != .set || !$0.subject.hasPrefix(object.text)
      }
      state.events = state.events.prefix(count) + inside
      return (state, flow == nil ? object : nil, flow)
    }
  }

  /// The name under which a scope has the type of its `self`, if that is another object.
  private static let ownerOfSelf = "type of self"

  /// A name as a member of the object whose method is being followed; nil for other names.
  func memberOfSelf(_ name: String, _ place: Place, _ state: State) -> Expr? {
    guard state.environment[name] == nil, let owner = state.environment[Self.ownerOfSelf]?.text,
      declarations.declares(name, in: owner)
    else { return nil }
    return Expr(.member(Expr(.name("self"), place), name), place)
  }

  /// Whether `self` is a collection that the tree extends.
  func isCollection(_ state: State) -> Bool {
    Declarations.collections.contains(state.environment[Self.ownerOfSelf]?.text ?? owner)
  }

  private func resumedPool(_ state: State) -> Executor {
    declarations.settings.isNonsendingByDefault ? state.executor : .pool
  }
}
