import Foundation

/// The elements of a collection: one stands for all, as it does in a loop.
struct Elements {
  /// The collection that they are made from.
  let source: String
  /// What is known about one of them.
  var element: Value
  /// What each is stored under.
  var key: String?
  /// Whether they have the order of the collection; results of child tasks arrive in any.
  var isOrdered = true

  init(source: String, element: Value, key: String? = nil, isOrdered: Bool = true) {
    self.source = source
    self.element = element
    self.key = key
    self.isOrdered = isOrdered
  }

  /// What a loop over `collection` runs through.
  init(_ collection: Value) {
    if case .elements(let elements) = collection {
      self = elements
      return
    }
    let text = collection.text
    func base(_ prefix: String, _ suffix: String) -> String? {
      guard text.hasPrefix(prefix), text.hasSuffix(suffix) else { return nil }
      return String(text.dropFirst(prefix.count).dropLast(suffix.count))
    }
    if let base = base("", ".enumerated()") {
      self.init(source: base, element: .tuple([Self.index(base), Self.each(base)]))
    } else if let base = base("", ".indices") ?? base("0 ..< ", ".count") {
      self.init(source: base, element: Self.index(base))
    } else {
      self.init(source: text, element: Self.each(text))
    }
  }

  /// Whether a collection has no order that could be lost.
  static func hasNoOrder(_ source: String) -> Bool {
    source.hasPrefix("Set(") || source.contains(".mapValues{") || source.hasSuffix(".values")
      || source.hasSuffix(".keys")
  }

  static func each(_ source: String) -> Value { .plain("each(\(source))") }
  static func index(_ source: String) -> Value { .plain("index(\(source))") }

  var text: String {
    if isOrdered, element.text == Self.each(source).text { return source }
    return shortened("\(isOrdered ? "" : "unordered ")\(source).map{\(element.text)}")
  }
}

/// Collections: what is done for each element, and what the result consists of.
extension Machine {
  /// `map`, `compactMap`, `filter`, `forEach`, and `reduce`; nil for other methods.
  ///
  /// What is done for one element is described. If it isn't passed on, the result is empty.
  func elementwise(
    _ collection: Value, _ name: String, _ arguments: [Expr.Argument], _ state: State
  ) throws -> Values? {
    guard let last = arguments.last, last.value.isHandler,
      last.label == nil || last.label == Declarations.trailing,
      arguments.count == (name == "reduce" ? 2 : 1), arguments[0].label != "into"
    else { return nil }
    let handler = last.value
    let isConcatenation = if case .list = collection { name == "flatMap" } else { false }
    guard
      ["map", "compactMap", "filter", "forEach", "reduce"].contains(name) || isConcatenation
    else { return nil }
    if name == "reduce" {
      return try reduce(collection, arguments[0].value, handler, state)
    }
    if collection.isEmptyList {
      return [(state, name == "forEach" ? .nothing : collection, nil)]
    }
    if case .list(let list) = collection, list.depth >= 0, name.hasSuffix("ap") {
      return try transformed(list, name, handler, state)
    }
    var elements = Elements(collection)
    var found: Value?
    if case .closure(let body) = handler.kind, name.hasSuffix("ap"),
      let known = try lookedUp(elements.element, body, state)
    {
      elements = known
      found = known.element
    }
    let outer = state.loops
    var state = state
    state.loops.append(elements.source)
    let empty = Value.list(List(elements: [], depth: outer.count))
    if name == "filter" {
      return try holds(handler, elements.element, state).map { state, holds, flow in
        var state = state
        state.loops = outer
        return (state, flow == nil ? (holds ? collection : empty) : nil, flow)
      }
    }
    let results =
      try found.map { [(state, $0, nil)] }
      ?? call(handler, [elements.element], state, isEffect: name == "forEach")
    // A closure that writes `nil` for some elements has values for the others.
    let isKnown = found != nil || results.contains { $0.1?.text == "nil" }
    return try results.flatMap { state, value, flow -> Values in
      var state = state
      state.loops = outer
      guard let value, flow == nil else { return [(state, nil, flow)] }
      if name == "forEach" { return [(state, .nothing, nil)] }
      elements.element = value
      // `compactMap { $0 }` of an array that was filled by index has each element.
      if elements.key != nil, value.text != "nil", value.text == Elements(collection).element.text {
        return [(state, .elements(elements), nil)]
      }
      guard name == "compactMap" else { return [(state, .elements(elements), nil)] }
      let answers =
        isKnown ? [(state, value.text != "nil")] : try isPresent(value, state)
      return answers.map { state, isThere in (state, isThere ? .elements(elements) : empty, nil) }
    }
  }

  /// `map`, `compactMap`, and `flatMap` of a list whose elements are known.
  private func transformed(
    _ list: List, _ name: String, _ handler: Expr, _ state: State
  ) throws -> Values {
    var results: [(State, [Value]?, Flow?)] = [(state, [], nil)]
    for element in list.elements {
      results = try results.flatMap { state, done, flow -> [(State, [Value]?, Flow?)] in
        guard let done, flow == nil else { return [(state, nil, flow)] }
        return try call(handler, [element], state).flatMap {
          state, value, flow -> [(State, [Value]?, Flow?)] in
          guard let value, flow == nil else { return [(state, nil, flow)] }
          guard name == "compactMap" else { return [(state, done + [value], nil)] }
          return try isPresent(value, state).map { ($0, $1 ? done + [value] : done, nil) }
        }
      }
    }
    return results.map { [self] state, values, flow in
      let value = values.map { values in
        let list = Value.list(List(elements: values, depth: state.loops.count))
        guard name == "flatMap", let first = values.first else { return list }
        return values.dropFirst().reduce(first) { sum($0, $1, loops: state.loops) }
      }
      return (state, value, flow)
    }
  }

  /// Two arrays, one after the other, as `+` describes them.
  func sum(_ first: Value, _ second: Value, loops: [String]) -> Value {
    if let known = joined(first, second, loops: loops) { return known }
    if first.isEmptyList || first.text == "0" { return second }
    return second.isEmptyList || second.text == "0"
      ? first : .plain(shortened("\(first.text) + \(second.text)"))
  }

  private func reduce(
    _ collection: Value, _ first: Expr, _ handler: Expr, _ state: State
  ) throws -> Values {
    try evaluate(first, state).flatMap { state, value, flow -> Values in
      if flow != nil || collection.isEmptyList { return [(state, value, flow)] }
      let outer = state.loops
      var state = state
      let elements = Elements(collection)
      state.loops.append(elements.source)
      return try call(handler, [value ?? .nothing, elements.element], state).map {
        state, value, flow in
        var state = state
        state.loops = outer
        return (state, value, flow)
      }
    }
  }

  /// Whether the condition that a closure checks holds for a value.
  func holds(
    _ handler: Expr, _ value: Value, _ state: State
  ) throws -> [(State, Bool, Flow?)] {
    guard case .closure(let body) = handler.kind, body.isExpression,
      case .expression(let condition)? = body.steps.first, let name = body.parameters.first
    else {
      return try call(handler, [value], state).flatMap { state, value, flow in
        try flow.map { [(state, false, $0)] }
          ?? decide(versioned(value?.text ?? "", state), state).map { ($0.0, $0.1, nil) }
      }
    }
    var state = state
    let outer = state.environment.updateValue(value, forKey: name)
    return try test([.test(condition)][...], state).map { state, holds, flow in
      var state = state
      state.environment[name] = outer
      return (state, holds, flow)
    }
  }

  /// Two arrays, one after the other; nil if their elements aren't known.
  ///
  /// An array that is empty before a loop then has what the loop adds for each element.
  func joined(_ first: Value, _ second: Value, loops: [String]) -> Value? {
    if case .elements = first, case .list(let other) = second {
      return .list(List(elements: [first] + other.elements, depth: loops.count))
    }
    guard case .list(var list) = first else { return nil }
    if case .elements(let other) = second {
      guard list.depth >= 0 else { return nil }
      if !list.elements.isEmpty {
        return .list(List(elements: list.elements + [second], depth: loops.count))
      }
      // What a loop adds to an empty array for each element: an array of all of it.
      guard let source = loops.last, list.depth < loops.count else { return second }
      return .elements(Elements(source: source, element: .elements(other)))
    }
    guard case .list(let other) = second else { return nil }
    if list.depth == loops.count {
      list.elements += other.elements
      return .list(list)
    }
    guard list.depth >= 0, list.elements.isEmpty, other.elements.count == 1, let source = loops.last
    else { return nil }
    return .elements(Elements(source: source, element: other.elements[0]))
  }

  /// Methods that change a collection do what an assignment does; nil for other methods.
  func change(
    _ base: Expr, _ name: String, _ arguments: [Expr.Argument], _ state: State
  ) throws -> Values? {
    guard !base.isOptional, !base.hasOptionalReceiver, !base.isSelf || isCollection(state) else {
      return nil
    }
    switch (name, arguments.first?.label, arguments.count) {
    case ("removeAll", nil, 0), ("removeAll", "keepingCapacity", 1):
      let empty = Value.list(List(elements: [], depth: state.loops.count))
      return try changed(store(empty, base, "=", isPromise: false, state))
    case ("removeAll", _, 1) where arguments[0].value.isHandler:
      // Changes the collection, unlike methods that return another one.
      return try evaluate(base, state).flatMap { state, value, flow -> Values in
        guard let value, flow == nil else { return [(state, nil, flow)] }
        return try call(arguments[0].value, [Elements(value).element], state).map {
          state, condition, flow in
          var state = state
          if case .name(let name) = base.kind, state.environment[name] != nil {
            state.environment[name] = .plain(
              shortened("\(value.text).removeAll{\(condition?.text ?? "")}"))
            return (state, flow == nil ? .nothing : nil, flow)
          }
          record(
            .set, key: "\(value.text).removeAll{\(condition?.text ?? "")}", subject: value.text,
            values: condition?.text ?? "", at: base.place, isEffect: true, in: &state)
          state.assigned[value.text, default: 0] += 1
          return (state, flow == nil ? .nothing : nil, flow)
        }
      }
    case ("append", nil, 1):
      return try evaluate(arguments[0].value, state).flatMap { state, value, flow -> Values in
        guard let value, flow == nil else { return [(state, nil, flow)] }
        if let source = state.gathered, case .name(let local) = base.kind,
          state.environment[local] != nil
        {
          var state = state
          state.environment[local] = .elements(
            Elements(
              source: source, element: value, isOrdered: Elements.hasNoOrder(source)))
          return [(state, .nothing, nil)]
        }
        let list = Value.list(List(elements: [value], depth: state.loops.count))
        return try changed(store(list, base, "+=", isPromise: false, state))
      }
    case ("append", "contentsOf", 1), ("merge", nil, 2):
      return try evaluate(arguments[0].value, state).flatMap { state, value, flow -> Values in
        guard let value, flow == nil else { return [(state, nil, flow)] }
        return try changed(store(value, base, "+=", isPromise: false, state))
      }
    case ("removeValue", "forKey", 1):
      return try replaceElement(of: base, arguments[0].value, with: nil, state)
    case ("updateValue", nil, 2) where arguments[1].label == "forKey":
      return try replaceElement(of: base, arguments[1].value, with: arguments[0].value, state)
    case ("sort", _, ...1):
      let sorted = Expr(.call(Expr(.member(base, "sorted"), base.place), arguments), base.place)
      return try evaluate(sorted, state).flatMap { state, value, flow -> Values in
        guard let value, flow == nil else { return [(state, nil, flow)] }
        return try changed(store(value, base, "=", isPromise: false, state))
      }
    default: return nil
    }
  }

  /// Assigns `base[key]`, and returns what was there.
  private func replaceElement(
    of base: Expr, _ key: Expr, with new: Expr?, _ state: State
  ) throws -> Values {
    let element = Expr(
      .compound([.expression(base), .text("["), .expression(key), .text("]")]), base.place)
    let new = new ?? Expr(.name("nil"), base.place)
    return try evaluate(element, state).flatMap { state, old, flow -> Values in
      if flow != nil { return [(state, nil, flow)] }
      return try evaluate(new, state).flatMap { state, value, flow -> Values in
        guard let value, flow == nil else { return [(state, nil, flow)] }
        return try store(value, element, "=", isPromise: false, state).map { state, flow in
          if case .normal = flow { (state, old, nil) } else { (state, nil, flow) }
        }
      }
    }
  }

  private func changed(_ results: Results) -> Values {
    results.map { state, flow in
      if case .normal = flow { (state, .nothing, nil) } else { (state, nil, flow) }
    }
  }

  /// Methods that restore the order of collected results, or that number them.
  func method(
    of elements: Elements, _ name: String, _ arguments: [Expr.Argument], _ state: State
  ) throws -> Values? {
    var elements = elements
    if name == "enumerated", arguments.isEmpty {
      elements.element = .tuple([Elements.index(elements.source), elements.element])
      return [(state, .elements(elements), nil)]
    }
    guard name == "sorted", case .closure(let body)? = arguments.last?.value.kind,
      case .tuple(let parts) = elements.element, let key = parts.first?.text,
      key == Elements.index(elements.source).text
    else { return nil }
    let pairs = ["first", "second"].map { name in
      Value.tuple([.plain(name)] + parts.dropFirst())
    }
    let order = try invoke(body, pairs, state).first?.1?.text
    guard order == "first < second" else { return nil }
    elements.isOrdered = true
    return [(state, .elements(elements), nil)]
  }

  /// Results that a closure looks up by their keys, for each element of the collection.
  private func lookedUp(_ element: Value, _ body: Body, _ state: State) throws -> Elements? {
    guard body.isExpression, case .expression(let value)? = body.steps.first,
      case (_, let name?, let key)? = value.subscripted,
      case .elements(var elements)? = state.environment[name],
      case .name(let parameter) = key.kind, parameter == body.parameters.first,
      elements.key == element.text
    else { return nil }
    elements.isOrdered = true
    return elements
  }

  /// `zip` of what is made from one collection, dictionaries with its elements as keys, and copies of
  /// empty collections; nil for other functions.
  func combined(_ name: String, _ labels: [String?], _ values: [Value]) -> Value? {
    if ["Set", "Array"].contains(name), labels == [nil], values[0].isEmptyList { return values[0] }
    if let empty = values.first(where: \.isEmptyList),
      name == "zip" || name == "Dictionary" && labels == ["uniqueKeysWithValues"]
    {
      return empty
    }
    if name == "zip", labels == [nil, nil] {
      let parts = values.map { Elements($0) }
      guard parts[0].source == parts[1].source, parts[0].isOrdered, parts[1].isOrdered else {
        return nil
      }
      let pair = Value.tuple(parts.map { $0.element })
      return .elements(Elements(source: parts[0].source, element: pair))
    }
    guard name == "Dictionary", labels == ["uniqueKeysWithValues"],
      case .elements(let elements) = values[0], case .tuple(let pair) = elements.element,
      pair.count == 2
    else { return nil }
    let key = pair[0].text
    return .elements(
      Elements(
        source: elements.source, element: pair[1], key: key,
        isOrdered: key == Elements.index(elements.source).text))
  }
}

extension Value {
  /// Another value in place of this one, or in place of each element of this collection.
  func replaced(by text: String) -> Value {
    guard case .elements(var elements) = self else { return .plain(text) }
    elements.element = .plain(text)
    return .elements(elements)
  }

  /// Whether this is a collection whose elements are described.
  var isCollection: Bool {
    switch self {
    case .elements, .list: true
    default: false
    }
  }

  /// Whether this is an array that is known to be empty.
  var isEmptyList: Bool {
    if case .list(let list) = self { list.elements.isEmpty && list.depth >= 0 } else { false }
  }
}

extension Expr {
  /// The parts of `base[key]`, with the name of the base if it's a variable.
  var subscripted: (base: Expr, name: String?, key: Expr)? {
    guard case .compound(let pieces) = kind, pieces.count == 4, case .text("[") = pieces[1],
      case .expression(let base) = pieces[0], case .expression(let key) = pieces[2]
    else { return nil }
    if case .name(let name) = base.kind { return (base, name, key) }
    return (base, nil, key)
  }
}
