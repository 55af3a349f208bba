/// Requests of a session with a callback, which `async` code awaits.
extension Machine {
  /// `dataTask(with:) { … }`: what `data(for:)` does, with its results in a callback; nil for other calls.
  func requestWithCallback(
    _ name: String, _ labels: [String?], _ values: [Value], _ expression: Expr, _ state: State
  ) throws -> Values? {
    guard case .closure(let body)? = values.last, body.parameters.count == 3,
      labels.first == "with",
      ["data", "upload", "download"].contains(where: { name.hasSuffix(".\($0)Task") })
    else { return nil }
    return try opaque(
      String(name.dropLast(4)), ["for"] + labels.dropFirst().dropLast(), values.dropLast(),
      expression,
      state, isEffect: true
    ).flatMap { state, value, flow -> Values in
      guard flow == nil, let text = value?.text else { return [(state, nil, flow)] }
      var state = state
      let outer = (state.list, state.executor)
      (state.list, state.executor) = (state.startList(.chain), .callback)
      state.markAwaited(text)
      // How often it resumes a continuation is checked like that of other callbacks.
      if let index = state.events.lastIndex(where: { $0.key == text }) {
        state.events[index].closures = callbacks(values.suffix(1), state)
      }
      return try failing(text, .nothing, state).flatMap { state, _, flow -> Values in
        var state = state
        var arguments = (0..<2).map { Value.plain("\(text).\($0)") }
        if case .thrown(let error)? = flow {
          arguments = [.plain("nil"), .plain("nil"), error]
        } else {
          for part in arguments { state.decisions["\(part.text) != nil"] = true }
          arguments.append(.plain("nil"))
        }
        return try invoke(body, arguments, state, isEffect: true).map { state, _, _ in
          var state = state
          (state.list, state.executor) = outer
          return (state, .plain(Self.started + text), nil)
        }
      }
    }
  }

  /// What the description of a task of a session starts with.
  static let started = "task of "
}
