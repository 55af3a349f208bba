import Foundation

/// `switch`, loops, and `do`.
extension Machine {
  func choose(_ subject: Expr, _ cases: [Case], _ state: State) throws -> Results {
    try evaluate(subject, state).flatMap { state, value, flow -> Results in
      if let flow { return [(state, flow)] }
      let text = value?.text ?? "()"
      if isLinear {
        var state = state
        for item in cases {
          if let next = try block(item.steps, matched(item.names, text, item.pattern, state)).first
          {
            state = next.0
          }
        }
        return [(state, .normal(.nothing))]
      }
      return try choose(text, cases[...], state)
    }
  }

  private func choose(_ text: String, _ cases: ArraySlice<Case>, _ state: State) throws -> Results {
    guard let item = cases.first else { return [(state, .normal(.nothing))] }
    let rest = cases.dropFirst()
    let isLast = rest.isEmpty && item.filter == nil
    return try match(text, item.pattern, isLast: isLast, state).flatMap {
      state, pattern -> Results in
      guard let pattern else { return try choose(text, rest, state) }
      let bound = matched(item.names, text, pattern, state)
      guard let filter = item.filter else { return try caseBody(item.steps, bound) }
      return try test([.test(filter)][...], bound).flatMap { next, holds, flow -> Results in
        if let flow { return [(next, flow)] }
        return try holds ? caseBody(item.steps, next) : choose(text, rest, next)
      }
    }
  }

  /// Follows the patterns of a case, each by itself; the result has the one that matches, or nil.
  private func match(
    _ text: String, _ pattern: String, isLast: Bool, _ state: State
  ) throws -> [(State, String?)] {
    if pattern == "default" || pattern == "_" { return [(state, pattern)] }
    var results: [(State, String?)] = []
    var open = [state]
    let patterns = pattern.components(separatedBy: ", ")
    for (index, single) in patterns.enumerated() {
      var next: [State] = []
      for state in open {
        let question = Self.question(text, single, state, self)
        if isLast, index == patterns.count - 1 {
          // The compiler has proved that one of the cases matches.
          var state = state
          state.decisions[question] = single != "nil"
          results.append((state, single))
          continue
        }
        for (state, holds) in try matches(text, single, state) {
          if holds {
            results.append((state, single))
          } else {
            next.append(state)
          }
        }
      }
      open = next
    }
    return results + open.map { ($0, nil) }
  }

  /// Follows the answers to whether a value matches a pattern: `.page(1)` is `.page` with 1 in it.
  func matches(_ text: String, _ pattern: String, _ state: State) throws -> [(State, Bool)] {
    guard pattern.hasPrefix("."), pattern.hasSuffix(")"), let open = pattern.firstIndex(of: "("),
      case let inner = pattern[pattern.index(after: open)...].dropLast(),
      case let values = inner.split(separator: ","),
      values.allSatisfy({ $0.first?.isNumber ?? false || "\"-._tf".contains($0.prefix(1)) })
        || inner.hasPrefix("is "),
      !inner.contains(where: { ":(".contains($0) })
    else {
      // No call fails with an error of a type that the other version doesn't have.
      if text.hasPrefix("error of "), isOwnObject(pattern) { return [(state, false)] }
      return try decide(Self.question(text, pattern, state, self), state)
        .map { ($0, $1 == (pattern != "nil")) }
    }
    let outer = String(pattern[..<open])
    let part = CaseName.ofResult(text).map { String($0.value) }
    var results = try decide(Self.question(text, outer), state)
    for (index, value) in values.enumerated() where value != "_" {
      let place = values.count > 1 ? "\(outer).\(index)" : outer
      results = try results.flatMap { state, holds in
        guard holds else { return [(state, false)] }
        return try matches(
          part ?? "\(Self.withoutCast(text))[\(place)]", String(value), state)
      }
    }
    return results
  }

  private func caseBody(_ steps: [Step], _ state: State) throws -> Results {
    try block(steps, state).map { state, flow in
      if case .leftChoice = flow { return (state, .normal(.nothing)) }
      return (state, flow)
    }
  }

  func matched(_ names: [String], _ text: String, _ pattern: String, _ state: State) -> State {
    var state = state
    if pattern.hasPrefix("is ") || pattern == "?", let name = names.first {
      state.environment[name] = .plain(text)
      return state
    }
    if let known = CaseName.ofResult(text), names.count == 1,
      ".\(known.name)" == pattern.prefix(while: { $0 != "(" })
    {
      state.environment[names[0]] = .plain(String(known.value))
      return state
    }
    let subject = pattern.hasPrefix(".") ? Self.withoutCast(text) : text
    for (index, name) in names.enumerated() where name != "_" {
      state.environment[name] = .plain(
        shortened(
          "\(subject)[\(pattern.prefix { $0 != "(" })\(names.count > 1 ? ".\(index)" : "")]"))
    }
    return state
  }

  func loop(_ loop: Loop, _ state: State) throws -> Results {
    if let (pattern, steps) = try loopOverGroup(loop, state) {
      return try forEachChild(state, pattern) { try block(steps, $0) }
    }
    let sources: Values =
      if let source = loop.source { try evaluate(source, state) } else {
        [(state, .nothing, nil)]
      }
    return try sources.flatMap { state, value, flow -> Results in
      if let flow { return [(state, flow)] }
      if case .group? = value {
        return try forEachChild(state, loop.pattern) { try block(loop.steps, $0) }
      }
      let collection = value ?? .nothing
      if collection.isEmptyList || collection.text == "[]" { return [(state, .normal(.nothing))] }
      var state = state
      let elements = Elements(collection)
      state.loops.append(elements.source)
      // The work for all elements has started before.
      if case .promise(let id) = elements.element, let list = state.promises[id].list {
        for index in state.events.indices where state.events[index].list == list {
          state.events[index].isParallel = true
        }
      } else if case .plain(let text) = elements.element, let index = state.openCall(text) {
        state.events[index].isParallel = true
      }
      let bound = destructure(loop.pattern, elements.element, state)
      return try block(loop.steps, bound).map { state, flow in
        var state = state
        state.loops.removeLast()
        if case .left = flow { return (state, .normal(.nothing)) }
        return (state, flow)
      }
    }
  }

  func doCatch(_ body: [Step], _ handlers: [Handler], _ state: State) throws -> Results {
    let wasInTry = state.isInTry
    let results = try block(body, state)
    if handlers.isEmpty { return results }
    if isLinear {
      var all: Results = []
      for (first, _) in results.prefix(1) {
        var state = first
        for handler in handlers {
          state.environment[handler.name] = .plain("error")
          if let next = try block(handler.steps, state).first { state = next.0 }
        }
        all.append((state, .normal(.nothing)))
      }
      return all
    }
    return try results.flatMap { state, flow -> Results in
      guard case .thrown(let error) = flow else { return [(state, flow)] }
      var state = state
      state.isInTry = wasInTry
      return try handle(error, handlers[...], state)
    }
  }

  private func handle(
    _ error: Value, _ handlers: ArraySlice<Handler>, _ state: State
  ) throws -> Results {
    guard let handler = handlers.first else { return [(state, .thrown(error))] }
    let rest = handlers.dropFirst()
    return try match(error.text, handler.pattern ?? "_", isLast: false, state).flatMap {
      first, pattern -> Results in
      guard let pattern else { return try handle(error, rest, first) }
      var state = first
      state.environment[handler.name] = error
      if handler.pattern != nil { state = matched(handler.names, error.text, pattern, state) }
      guard let filter = handler.filter else { return try block(handler.steps, state) }
      return try test([.test(filter)][...], state).flatMap { next, holds, flow -> Results in
        if let flow { return [(next, flow)] }
        return try holds ? block(handler.steps, next) : handle(error, rest, next)
      }
    }
  }

  /// The name of the question whether a value matches a pattern.
  ///
  /// For the patterns `1`, `"text"`, and `1..<5`, the question is the one that `==` and `contains`
  /// ask.
  private static func question(
    _ text: String, _ pattern: String, _ state: State, _ machine: Machine
  ) -> String {
    if let first = pattern.first, first.isNumber || "\"-".contains(first) {
      for symbol in ["..<", "..."] {
        let ends = pattern.components(separatedBy: symbol)
        guard ends.count == 2 else { continue }
        let range = ends[1].isEmpty ? pattern : "\(ends[0]) \(symbol) \(ends[1])"
        return machine.versioned("\(range).contains(\(text))", state)
      }
      return machine.versioned("\(text) == \(pattern)", state)
    }
    return question(
      ["nil", "?"].contains(pattern) ? machine.versioned(text, state) : text, pattern)
  }

  /// The name of the question whether a value matches a pattern.
  ///
  /// For the patterns `nil` and `?`, the latter of which is any value but `nil`, the question is the
  /// one that `if let` asks.
  static func question(_ text: String, _ pattern: String) -> String {
    let text = pattern.hasPrefix(".") ? withoutCast(text) : text
    if pattern == "nil" || pattern == "?" {
      return Value.plain(text).cast.map { "\($0.text) is \($0.type)" } ?? "\(text) != nil"
    }
    // What a person cancels is a cancellation, too.
    if pattern.hasPrefix("is ") && pattern.hasSuffix("CancellationError")
      || pattern == ".userCancelled"
    {
      return "\(text).isCancelled"
    }
    return pattern.hasPrefix("is ") ? "\(text) \(pattern)" : "\(text) ~ \(pattern)"
  }

  /// A value without its last cast: `value as? Type` is `.name` if the value is `Type.name`.
  private static func withoutCast(_ text: String) -> String {
    text.range(of: " as? ", options: .backwards).map { String(text[..<$0.lowerBound]) } ?? text
  }
}
