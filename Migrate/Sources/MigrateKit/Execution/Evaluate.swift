extension Machine {
  /// Evaluates an expression on each path; a result has either a value or a flow that ends it.
  func evaluate(_ expression: Expr, _ state: State, isEffect: Bool = false) throws -> Values {
    let results = try unforced(expression, state, isEffect: isEffect)
    guard expression.isForced else { return results }
    return results.map { state, value, flow in
      var state = state
      if case .plain(let text)? = value { state.present.insert(text) }
      return (state, value, flow)
    }
  }

  private func unforced(_ expression: Expr, _ state: State, isEffect: Bool) throws -> Values {
    switch expression.kind {
    case .name(let name):
      if let own = memberOfSelf(name, expression.place, state) {
        return try evaluate(own, state, isEffect: isEffect)
      }
      if state.environment[name] == nil, declarations.isGetter(name, in: owner) {
        return try apply(.plain(name), nil, [], expression, state, isEffect: isEffect)
      }
      return [(state, state.environment[name] ?? property(name), nil)]
    case .literal(let text), .keyPath(let text):
      return [(state, .plain(text), nil)]
    case .closure(let body):
      return try capturing(body, state).map { state in
        var state = state
        state.homes[ObjectIdentifier(body)] = state.scope
        return (state, .closure(body), nil)
      }
    case .member(let base, let name):
      return try member(base, name, expression, state, isEffect: isEffect)
    case .call(let callee, let arguments):
      return try call(callee, arguments, expression, state, isEffect: isEffect)
    case .tuple(let arguments):
      for (index, argument) in arguments.enumerated() {
        if let label = argument.label { tupleLabels[label] = index }
      }
      return try all(arguments.map(\.value), state) { values in
        if values.isEmpty { return .nothing }
        return .tuple(values)
      }
    case .list(let elements):
      let depth = state.loops.count
      return try all(elements, state) { .list(List(elements: $0, depth: depth)) }
    case .compound(let pieces):
      return try compound(pieces, state)
    case .conditional(let question, let first, let second):
      return try truth(question, state).flatMap { state, holds, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        return try evaluate(holds ? first : second, state, isEffect: isEffect)
      }
    case .attempt(let kind, let inner):
      return try attempt(kind, inner, state, isEffect: isEffect)
    case .await(let inner):
      return try awaiting(inner, state, isEffect: isEffect)
    case .chain(let link):
      return try chain(link, state)
    case .block(let steps):
      return try block(steps, state).map { state, flow in
        if case .normal(let value) = flow { return (state, value, nil) }
        return (state, nil, flow)
      }
    }
  }

  /// Evaluates expressions from left to right, and combines their values.
  func all(
    _ expressions: [Expr], _ state: State, _ combine: @escaping ([Value]) -> Value
  ) throws -> Values {
    try all(expressions[...], state, []).map { state, values, flow in
      (state, values.map(combine), flow)
    }
  }

  func all(
    _ expressions: ArraySlice<Expr>, _ state: State, _ values: [Value]
  ) throws -> [(State, [Value]?, Flow?)] {
    guard let first = expressions.first else { return [(state, values, nil)] }
    return try evaluate(first, state).flatMap { state, value, flow -> [(State, [Value]?, Flow?)] in
      if let flow { return [(state, nil, flow)] }
      return try all(expressions.dropFirst(), state, values + [value ?? .nothing])
    }
  }

  func compound(_ pieces: [Expr.Piece], _ state: State) throws -> Values {
    if let chosen = try fallback(pieces, state) { return chosen }
    let parts = pieces.compactMap { piece -> Expr? in
      if case .expression(let inner) = piece { inner } else { nil }
    }
    return try all(parts, state) { [self] values in
      if values.count == 2, pieces.count == 4, case .text("[") = pieces[1] {
        if values[1].text == "0", case .plain = values[0] { return member(values[0], "first") }
        // An element that is reached by its index is the one that a loop runs through.
        if case .list(let list) = values[0], let index = Int(values[1].text),
          list.elements.indices.contains(index)
        {
          return list.elements[index]
        }
        let elements = Elements(values[0])
        if values[1].text == Elements.index(elements.source).text { return elements.element }
      }
      if pieces.count == 3, case .text("+") = pieces[1] {
        return sum(values[0], values[1], loops: state.loops)
      }
      // A value is what it is under another type, and as an `inout` argument.
      if pieces.count == 2, case .text(let cast) = pieces[1], cast.hasPrefix(" as ") {
        return values[0]
      }
      if pieces.count == 2, case .text("&") = pieces[0] { return values[0] }
      var rest = values[...]
      var text = pieces.map { piece -> String in
        if case .text(let text) = piece { return text }
        return rest.popFirst()?.text ?? ""
      }
      // A text literal inside a text is a part of it.
      for index in text.indices.dropFirst(2).dropLast()
      where text[index - 2] == "\\" && text[index - 1] == "(" && text[index + 1] == ")" {
        guard let inner = text[index].contentOfLiteral else { continue }
        text.replaceSubrange(index - 2...index + 1, with: ["", "", inner, ""])
      }
      // Operators of two operands are set off; strings and prefix operators aren't.
      let isSpaced = pieces.count == 3 && text[0] != "\""
      return .plain(shortened(text.joined(separator: isSpaced ? " " : "")))
    }
  }

  /// `optional ?? other`, and `optional.map { … } ?? other`: one of the two.
  private func fallback(_ pieces: [Expr.Piece], _ state: State) throws -> Values? {
    guard pieces.count == 3, case .text("??") = pieces[1], case .expression(let first) = pieces[0],
      case .expression(let second) = pieces[2]
    else { return nil }
    var optional = first
    var transform: Body?
    if case .call(let callee, let arguments) = first.kind,
      case .member(let base?, "map") = callee.kind,
      case .closure(let body)? = arguments.last?.value.kind
    {
      (optional, transform) = (base, body)
    }
    guard transform != nil || reading.followsFallbacks else { return nil }
    return try unwrapped(optional, state).flatMap { state, value, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      guard let value else { return try evaluate(second, state) }
      return try transform.map { try invoke($0, [value], state) } ?? [(state, value, nil)]
    }
  }

  private func member(
    _ base: Expr?, _ name: String, _ expression: Expr, _ state: State, isEffect: Bool
  ) throws -> Values {
    guard let base else {
      // `.value` where a promise is expected is `Promise<Void>.value`.
      if expression.type.isThenable { return [state.withPromise(.fulfilled(.nothing))] }
      return [(state, .plain((reading.impliedTypes[name] ?? "") + "." + name), nil)]
    }
    if case .name(let type) = base.kind, type.hasPrefix("Promise") || type.hasPrefix("Guarantee"),
      name == "value", library != nil
    {
      return [state.withPromise(.fulfilled(.nothing))]
    }
    let isGetter = declarations.isGetter(name, in: base.isSelf ? owner : nil)
    return try evaluate(base, state).flatMap { state, value, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      if let value, CaseName.ofResult(value.text) != nil, let known = inlined("\(name).get") {
        return try addedOperator(known, value, [], expression, state)
      }
      let member = member(value ?? .nothing, name)
      guard isGetter else { return [(state, state.fields[member.text] ?? member, nil)] }
      return try apply(member, value, [], expression, state, isEffect: isEffect)
    }
  }

  /// A property; its name doesn't matter if it stores a resolver or a continuation.
  private func property(_ name: String) -> Value {
    declarations.storesResolver(name, in: owner, isAlone: true)
      ? .resolver(PromiseState.stored)
      : .plain(
        (declarations.byName[name] == nil ? declarations.constant(name) : nil)
          ?? reading.newNames[name] ?? name)
  }

  /// The name of a type in the other version; other names as they are.
  private func typeName(_ name: String) -> String {
    name.first?.isUppercase == true ? reading.newNames[name] ?? name : name
  }

  func member(_ base: Value, _ written: String) -> Value {
    // However a program calls it.
    let name =
      declarations.asksForCancellation(written)
        || ["isCancellation", "isCancelledError", "isCanceled"].contains(written)
      ? "isCancelled" : typeName(written)
    return switch base {
    case .plain("self") where Declarations.collections.contains(owner): .plain("self.\(name)")
    case .plain("self"), .plain("Self"): property(name)
    case .plain("PMKError") where name == "cancelled": .plain("CancellationError()")
    case .plain(owner.lastName) where declarations.declares(name, in: owner): property(name)
    case .plain(let text) where isOwnContainer(text): property(name)
    case .resolver(let id): .resolverMethod(id, name)
    case .tuple(let values):
      if let index = Int(name) ?? tupleLabels[name], index < values.count {
        values[index]
      } else if let index = ["offset", "element"].firstIndex(of: name), values.count == 2,
        values[0].text.hasPrefix("index(")
      {
        values[index]
      } else if ["promise", "guarantee"].contains(name), values.count == 2 {
        values[0]
      } else if ["resolver", "resolve"].contains(name), values.count == 2 {
        values[1]
      } else {
        .plain(shortened("\(base.text).\(name)"))
      }
    case .promise where ["promise", "promiseKit", "pledge"].contains(name): base
    case .plain(let text) where declarations.part(name, of: text) == .promise: base
    case .plain(let text) where declarations.part(name, of: text) == .resolver:
      .resolver(PromiseState.stored)
    case .list where base.isEmptyList && name == "isEmpty": .plain("true")
    case .plain(let text) where declarations.index(of: name, inResultOf: text) != nil:
      .plain(shortened("\(text).\(declarations.index(of: name, inResultOf: text) ?? 0)"))
    case .elements(let elements) where ["count", "indices", "isEmpty"].contains(name):
      .plain("\(elements.source).\(name)")
    default: .plain(shortened("\(base.text).\(name)"))
    }
  }

  // MARK: Errors

  private func attempt(
    _ kind: Expr.Attempt, _ inner: Expr, _ state: State, isEffect: Bool
  ) throws -> Values {
    if kind == .propagate, case .call(let callee, let arguments) = inner.kind,
      case .member(nil, "value") = callee.kind, library != nil
    {
      // In `try .value(parse())`, the argument can throw.
      let tried = arguments.map {
        Expr.Argument(label: $0.label, value: Expr(.attempt(kind, $0.value), $0.value.place))
      }
      return try evaluate(Expr(.call(callee, tried), inner.place, inner.type), state)
    }
    let inner = kind == .propagate ? withTries(inner) : inner
    var state = state
    let wasInTry = state.isInTry
    state.isInTry = true
    var results = try evaluate(inner, state, isEffect: isEffect)
    if case .await = inner.kind {
    } else {
      results = try results.flatMap { state, value, flow -> Values in
        guard flow == nil, let value, value.text != "()", mayThrow(inner),
          !isOfClosure(inner, state)
        else {
          return [(state, value, flow)]
        }
        return try failing(value.text, state.passed[value.text] ?? value, state)
      }
    }
    return results.map { state, value, flow in
      var state = state
      state.isInTry = wasInTry
      if kind == .optional, flow == nil, case .plain(let text)? = value {
        // A call that succeeds has a value.
        let question = "\(text) != nil"
        if state.decisions[question] == nil { state.decisions[question] = true }
      }
      guard case .thrown? = flow else { return (state, value, flow) }
      switch kind {
      case .propagate: return (state, nil, flow)
      case .optional: return (state, .plain("nil"), nil)
      case .force:
        record(
          .block, key: "crashes if this fails", subject: "crash", values: "", at: inner.place,
          isEffect: true, in: &state)
        return (state, nil, .crashed)
      }
    }
  }

  /// An expression under `try` in which the receivers that can throw are tried, each by itself.
  private func withTries(_ expression: Expr) -> Expr {
    func tried(_ base: Expr) -> Expr {
      if case .call(let callee, let arguments) = base.kind,
        case let known = declarations.candidates(callee, arguments), !known.isEmpty,
        known.allSatisfy({ $0.throwsErrors && !$0.isAsync })
      {
        return Expr(.attempt(.propagate, base), base.place, base.type)
      }
      return withTries(base)
    }
    var result = expression
    switch expression.kind {
    case .call(let callee, let arguments):
      guard case .member(let base?, let name) = callee.kind else { return expression }
      let member = Expr(.member(tried(base), name), callee.place, callee.type)
      result = Expr(.call(member, arguments), expression.place, expression.type)
    case .compound(let pieces):
      let all = pieces.map { piece -> Expr.Piece in
        guard case .expression(let part) = piece else { return piece }
        return .expression(tried(part))
      }
      result = Expr(.compound(all), expression.place, expression.type)
    default: return expression
    }
    result.isOptional = expression.isOptional
    return result
  }

  /// Functions whose errors are followed where they are called.
  private static let described: Set<String> = [
    "withCheckedThrowingContinuation", "Task", "awaitPromise", "hang",
  ]

  /// Whether this is a call of a closure whose body is known.
  private func isOfClosure(_ expression: Expr, _ state: State) -> Bool {
    if case .call(let callee, _) = expression.kind, case .name(let name) = callee.kind,
      case .closure? = state.environment[name]
    {
      true
    } else {
      false
    }
  }

  /// Whether a call under `try` can be the one that throws.
  private func mayThrow(_ expression: Expr) -> Bool {
    switch expression.kind {
    case .call(let callee, let arguments):
      // The closure of `map` throws where it is described.
      if case .member(_, let name) = callee.kind, Self.pure.contains(name) { return false }
      guard let name = callee.lastName, callee.isOwn else { return true }
      // What a function throws that is followed is described.
      if followed(name) != nil || reading.inlined["\(name).init"] != nil { return false }
      if Self.described.contains(name) { return false }
      let known = declarations.byName[name]?.filter {
        declarations.fits($0, arguments.map { $0.label ?? "_" })
      }
      guard let known, !known.isEmpty else { return true }
      return known.contains { $0.throwsErrors }
    case .member(let base?, _): return mayThrow(base)
    case .compound(let pieces):
      return pieces.contains { piece in
        if case .expression(let inner) = piece { mayThrow(inner) } else { false }
      }
    case .tuple(let arguments): return arguments.contains { mayThrow($0.value) }
    default: return false
    }
  }

  /// Follows success and failure of what `text` describes.
  func failing(_ text: String, _ value: Value, _ state: State) throws -> Values {
    try decide("fails: \(text)", state).map { state, fails in
      // A linear run follows the success.
      if fails, !isLinear { return (state, nil, .thrown(.plain(error(of: text)))) }
      return (state, value, nil)
    }
  }

  /// The error of a call: short, so that questions about it can be appended.
  private func error(of text: String) -> String { shortened("error of \(text)", limit: 180) }

  // MARK: Functions

  /// Runs the body of a closure or function with arguments.
  func invoke(
    _ body: Body, _ arguments: [Value], _ state: State, isEffect: Bool = false
  ) throws -> Values {
    guard depth < 12, !open.contains(ObjectIdentifier(body)) else {
      return [(state, .plain("recursion"), nil)]
    }
    if !body.captures.isEmpty, state.captures[ObjectIdentifier(body)] == nil {
      return try capturing(body, state).flatMap {
        try invoke(body, arguments, $0, isEffect: isEffect)
      }
    }
    depth += 1
    open.insert(ObjectIdentifier(body))
    defer {
      depth -= 1
      open.remove(ObjectIdentifier(body))
    }
    var state = state
    let outer = state.scope
    state.enter(state.homes[ObjectIdentifier(body)] ?? outer)
    let captures = state.captures[ObjectIdentifier(body)] ?? [:]
    let saved = (body.parameters + captures.keys).map { ($0, state.environment[$0]) }
    state.environment.merge(captures) { $1 }
    if body.parameters.count > 1, arguments.count == 1 {
      state = destructure(.tuple(body.parameters.map { .name($0) }), arguments[0], state)
    } else {
      for (name, value) in zip(body.parameters, arguments) { state.environment[name] = value }
    }
    let loops = state.loops
    let wasIn = (state.isInTry, state.isInAwait)
    let endPlace = state.endPlace
    (state.isInTry, state.isInAwait) = (false, false)
    if body.isMainActor { state.executor = .main }
    if body.isExpression, case .expression(let value)? = body.steps.first {
      return try evaluate(value, state, isEffect: isEffect).map { state, value, flow in
        leave(state, value, flow, saved, outer, loops, wasIn, endPlace)
      }
    }
    return try block(body.steps, state).map { state, flow in
      switch flow {
      case .normal(let value):
        leave(
          state, body.isExpression ? value : .nothing, nil, saved, outer, loops, wasIn, endPlace)
      case .returned(let value): leave(state, value, nil, saved, outer, loops, wasIn, endPlace)
      case .left, .leftChoice: leave(state, .nothing, nil, saved, outer, loops, wasIn, endPlace)
      case .thrown, .crashed: leave(state, nil, flow, saved, outer, loops, wasIn, endPlace)
      }
    }
  }

  /// The paths on which a closure has captured values under names.
  private func capturing(_ body: Body, _ state: State) throws -> [State] {
    let captures = body.captures.filter { $0.name != "self" }
    return try all(captures.map(\.value)[...], state, []).map { state, values, _ in
      var state = state
      state.captures[ObjectIdentifier(body)] = Dictionary(
        zip(captures.map(\.name), values ?? []), uniquingKeysWith: { $1 })
      return state
    }
  }

  private func leave(
    _ state: State, _ value: Value?, _ flow: Flow?, _ saved: [(String, Value?)],
    _ outer: Int, _ loops: [String], _ wasIn: (Bool, Bool), _ endPlace: Place?
  ) -> (State, Value?, Flow?) {
    var state = state
    // A closure that a closure returns keeps the names that it sees.
    if case .closure(let inner)? = value { state.keep(saved.map(\.0), for: inner) }
    for (name, value) in saved { state.environment[name] = value }
    state.enter(outer)
    state.loops = loops
    (state.isInTry, state.isInAwait) = wasIn
    if flow == nil { state.endPlace = endPlace }
    return (state, value, flow)
  }
}
