import Foundation

extension Machine {
  /// Follows both answers to a question, or the one that this path has already given.
  func decide(_ question: String, _ state: State) throws -> [(State, Bool)] {
    if let known = state.decisions[question] { return [(state, known)] }
    if question.hasPrefix("true ~") || ["true", "[].isEmpty"].contains(question) {
      return [(state, true)]
    }
    if question == "false" || question == "nil != nil" || question.hasPrefix("nil is ") {
      return [(state, false)]
    }
    if question.hasSuffix(" == nil") {
      return try decide(question.dropLast(7) + " != nil", state).map { ($0, !$1) }
    }
    if question.hasPrefix("error of "), question.hasSuffix(" != nil"),
      state.decisions["fails: " + question.dropFirst(9).dropLast(7)] == true
    {
      return [(state, true)]
    }
    if question.hasSuffix(" != nil"), CaseName.isWrittenError(question.dropLast(7)) {
      return [(state, true)]
    }
    if CaseName.isOfCoding(question) { return [(state, false)] }
    if let known = CaseName.answer(question) { return [(state, known)] }
    // Each error is one.
    if question.hasPrefix("error of "), question.hasSuffix(" is NSError") { return [(state, true)] }
    if ["PMKError.cancelled", "CancellationError()"].contains(where: {
      question == "\($0).isCancelled"
    }) {
      return [(state, true)]
    }
    if let (_, name) = CaseName.split(question), state.ownErrors.contains(name) {
      return [(state, false)]
    }
    if let (subject, name) = CaseName.split(question),
      state.decisions.contains(where: { known, holds in
        holds && CaseName.split(known).map { $0.0 == subject && $0.1 != name } ?? false
      })
    {
      return [(state, false)]
    }
    if isOwnObject(question), let dot = question.lastIndex(of: "."),
      let initial = declarations.typeName(ofProperty: String(question[dot...].dropFirst())),
      ["true", "false"].contains(initial)
    {
      // A flag of a new object has its initial value.
      return [(state, initial == "true")]
    }
    if isLinear { return [(state, true)] }
    var state = state
    // Whether work has ended, which `async` code doesn't ask.
    if question.hasSuffix(".isPending") { state.isVague = true }
    stateCount += 1
    if stateCount > 1500 { throw TooManyPaths() }
    var yes = state
    var no = state
    yes.decisions[question] = true
    no.decisions[question] = false
    return [(yes, true), (no, false)]
  }

  func test(
    _ conditions: ArraySlice<Condition>, _ state: State
  ) throws -> [(State, Bool, Flow?)] {
    guard let condition = conditions.first else { return [(state, true, nil)] }
    let rest = conditions.dropFirst()
    return try test(condition, state).flatMap { state, holds, flow -> [(State, Bool, Flow?)] in
      if flow != nil || !holds { return [(state, holds, flow)] }
      return try test(rest, state)
    }
  }

  func test(_ condition: Condition, _ state: State) throws -> [(State, Bool, Flow?)] {
    switch condition {
    case .fixed(let text):
      return try decide(text, state).map { ($0.0, $0.1, nil) }
    case .test(let value):
      return try truth(value, state)
    case .unwrap(let pattern, let value):
      return try unwrapped(value, state).map { state, value, flow in
        (value.map { destructure(pattern, $0, state) } ?? state, value != nil, flow)
      }
    case .match(let pattern, let names, let value):
      return try evaluate(value, state).flatMap { state, value, flow -> [(State, Bool, Flow?)] in
        if let flow { return [(state, false, flow)] }
        let text = value?.text ?? ""
        return try matches(text, pattern, state).map { state, holds in
          (holds ? matched(names, text, pattern, state) : state, holds, nil)
        }
      }
    }
  }

  /// The value of an optional expression; none on paths on which it is nil.
  func unwrapped(_ expression: Expr, _ state: State) throws -> [(State, Value?, Flow?)] {
    // `(value as? Type)?.member`, `(try? load())?.member`
    if case .member(let base?, let name) = expression.kind, base.isCast || base.isTried {
      return try unwrapped(base, state).map { state, value, flow in
        (state, value.map { member($0, name) }, flow)
      }
    }
    // `optional.flatMap { … }`
    if case .call(let callee, let arguments) = expression.kind, arguments.count == 1,
      case .member(let base?, let name) = callee.kind, ["map", "flatMap"].contains(name),
      case .closure(let body) = arguments[0].value.kind
    {
      return try unwrapped(base, state).flatMap { state, value, flow -> Values in
        guard let value, flow == nil else { return [(state, nil, flow)] }
        return try invoke(body, [value], state).flatMap { state, value, flow -> Values in
          guard let value, flow == nil, name == "flatMap" else { return [(state, value, flow)] }
          return try isPresent(value, state).map { ($0, $1 ? value : nil, nil) }
        }
      }
    }
    let isThere = isPresentWithSelf(expression)
    return try evaluate(expression, state).flatMap { state, value, flow -> Values in
      guard let value, flow == nil else { return [(state, nil, flow)] }
      if isThere, value.text != "nil" { return [(state, value, nil)] }
      if let (text, type) = value.cast {
        return try decide("\(text) is \(type)", state).map { ($0, $1 ? .plain(text) : nil, nil) }
      }
      return try isPresent(value, state).map { ($0, $1 ? value : nil, nil) }
    }
  }

  /// Whether this is a call such as `try await self?.load()`, of a function whose result isn't nil.
  private func isPresentWithSelf(_ expression: Expr) -> Bool {
    switch expression.kind {
    case .attempt(.propagate, let inner), .await(let inner): isPresentWithSelf(inner)
    case .call(let callee, let arguments):
      if case .member(let base?, _) = callee.kind, base.isSelf, base.isOptional {
        declarations.returnsNonOptional(callee, arguments)
      } else {
        false
      }
    default: false
    }
  }

  func isPresent(_ value: Value, _ state: State) throws -> [(State, Bool)] {
    switch value {
    case .plain("self"): return [(state, true)]
    case .plain(let text) where declarations.isImplicitlyUnwrapped(text, in: owner):
      return [(state, true)]
    case .resolver(PromiseState.stored): return try decide("resolver != nil", state)
    case .plain("nil"): return [(state, false)]
    case .plain(let text)
    where ["Array(", "Set(", "Dictionary(", "["].contains(where: text.hasPrefix)
      && text.last.map { ")]".contains($0) } ?? false:
      return [(state, true)]
    case .plain(let text)
    where state.openCall(text).map { state.events[$0].isPromise } ?? false
      || state.events.contains { $0.kind == .call && $0.key == text && $0.hasValue }:
      return [(state, true)]
    case .plain(let text) where text.hasSuffix(".first") || text.hasSuffix(".last"):
      // A collection with a first element isn't empty.
      let collection = text[..<(text.lastIndex(of: ".") ?? text.endIndex)]
      return try decide(versioned(collection + ".isEmpty", state), state).map { ($0, !$1) }
    case .plain(let text): return try decide("\(versioned(text, state)) != nil", state)
    case .list where value.isEmptyList: return [(state, true)]
    default: return [(state, true)]
    }
  }

  /// A text that changes when a variable in it has been set, so that a question about it is asked
  /// again.
  func versioned(_ text: String, _ state: State) -> String {
    var result = text
    for (name, count) in state.assigned.sorted(by: { $0.key < $1.key })
    where text.mentions(name) {
      result += "@\(name)\(count)"
    }
    return result
  }

  func truth(_ value: Expr, _ state: State) throws -> [(State, Bool, Flow?)] {
    if case .compound(let pieces) = value.kind {
      if pieces.count == 2, case .text("!") = pieces[0], case .expression(let inner) = pieces[1] {
        return try truth(inner, state).map { ($0.0, !$0.1, $0.2) }
      }
      if pieces.count == 3, case .expression(let left) = pieces[0],
        case .text(let symbol) = pieces[1], case .expression(let right) = pieces[2]
      {
        return try truth(left, symbol, right, value, state)
      }
    }
    return try plainTruth(value, state)
  }

  func truth(
    _ left: Expr, _ symbol: String, _ right: Expr, _ whole: Expr, _ state: State
  ) throws -> [(State, Bool, Flow?)] {
    switch symbol {
    case "&&", "||":
      let stops = symbol == "||"
      return try truth(left, state).flatMap { state, holds, flow -> [(State, Bool, Flow?)] in
        if flow != nil || holds == stops { return [(state, holds, flow)] }
        return try truth(right, state)
      }
    case "==", "!=", ">":
      if case .member(let base?, "count") = left.kind, case .literal("0") = right.kind {
        // Whether a collection is empty.
        let isEmpty = Expr(.member(base, "isEmpty"), left.place, .other)
        return try plainTruth(isEmpty, state).map { ($0, $1 == (symbol == "=="), $2) }
      }
      if symbol == ">" { return try plainTruth(whole, state) }
      if case .member(let base?, let name) = left.kind, base.isCast {
        // `(value as? Type)?.member == other`
        return try unwrapped(base, state).flatMap { first, value, flow -> [(State, Bool, Flow?)] in
          guard let value, flow == nil else { return [(first, symbol == "!=", flow)] }
          var state = first
          state.environment["cast"] = member(value, name)
          let known = Expr(.name("cast"), left.place, .other)
          return try truth(known, symbol, right, whole, state)
        }
      }
      return try evaluate(left, state).flatMap { state, first, flow -> [(State, Bool, Flow?)] in
        if let flow { return [(state, false, flow)] }
        return try evaluate(right, state).flatMap {
          state, second, flow
            -> [(State, Bool, Flow?)] in
          if let flow { return [(state, false, flow)] }
          let first = first ?? .nothing
          let second = second ?? .nothing
          if second.text == "nil" {
            return try isPresent(first, state).map { ($0.0, $0.1 == (symbol == "!="), nil) }
          }
          if second.text == "true" || second.text == "false" {
            let isEqual = (second.text == "true") == (symbol == "==")
            return try decide(versioned(first.text, state), state).map {
              ($0.0, $0.1 == isEqual, nil)
            }
          }
          let question = self.question("\(first.text) == \(second.text)", state)
          return try decide(question, state).map { ($0.0, $0.1 == (symbol == "=="), nil) }
        }
      }
    case ">=", "<=":
      // The answer to the opposite question.
      let opposite = Expr(
        .compound([
          .expression(left), .text(symbol == ">=" ? "<" : ">"), .expression(right),
        ]), whole.place, whole.type)
      return try plainTruth(opposite, state).map { ($0.0, !$0.1, $0.2) }
    default:
      return try plainTruth(whole, state)
    }
  }

  func plainTruth(_ value: Expr, _ state: State) throws -> [(State, Bool, Flow?)] {
    try evaluate(value, state).flatMap { state, value, flow -> [(State, Bool, Flow?)] in
      if let flow { return [(state, false, flow)] }
      return try decide(question(value?.text ?? "", state), state).map { ($0.0, $0.1, nil) }
    }
  }

  /// The name of the question that a condition asks: a cancellation has one, however it is written.
  private func question(_ text: String, _ state: State) -> String {
    // What an error is doesn't change.
    if text.hasSuffix(".isCancelled") { return text }
    for code in [".code == .cancelled", ".code == URLError.cancelled"] where text.hasSuffix(code) {
      return text.dropLast(code.count) + ".isCancelled"
    }
    let cast = "is CancellationError"
    guard text.hasSuffix(cast) else { return versioned(text, state) }
    let error = text.dropLast(cast.count)
    return "\(error.hasSuffix(" ") ? error.dropLast() : error).isCancelled"
  }
}

/// Questions whether a value is a case of an enumeration: it is only one of them.
enum CaseName {
  /// Whether a question asks if an error of an encoder or decoder is a cancellation, or a case of another
  /// type: these have errors of their own.
  static func isOfCoding(_ question: String) -> Bool {
    guard question.hasPrefix("error of ") else { return false }
    let call =
      question.hasSuffix(".isCancelled")
      ? question.dropLast(12) : split(question)?.subject ?? ""
    return call.wholeMatch(
      of: /error of [\w.]*([Dd]e|[Ee]n)coder(\(\))?\.(de|en)code\(.*\)/) != nil
  }

  /// Whether a text is that of an error which code writes, and not that of an error which it gets.
  static func isWrittenError(_ text: Substring) -> Bool {
    ofError(text) != nil || isErrorValue(text)
  }

  /// The answer to a question about an error that is written as a case, such as
  /// `ChatError.offline ~ .offline`; nil if it depends on more than the names.
  static func answer(_ question: String) -> Bool? {
    let parts = question.components(separatedBy: " is ")
    if parts == ["TimeoutError", "TimeoutError"] { return true }
    if parts.count == 2, parts[1].allSatisfy(isWord), !protocols.contains(parts[1]),
      isWrittenError(parts[0][...])
    {
      return parts[0].prefix(while: isWord) == parts[1]
    }
    // The number in an error that is written.
    if let parts = question.wholeMatch(of: /\w+Error\.(\w+)\((\d+)\)\[\.(\w+)\] == (\d+)/)?.output,
      parts.1 == parts.3
    {
      return parts.2 == parts.4
    }
    let casts = question.components(separatedBy: " as? ")
    if casts.count == 2, isWrittenError(casts[0][...]),
      ["==", "!= nil"].contains(where: casts[1].contains),
      case let type = casts[1].prefix(while: isWord), !protocols.contains(String(type)),
      casts[0].prefix(while: isWord) != type
    {
      return false
    }
    guard let (subject, name) = split(question) else { return nil }
    if let known = ofResult(subject) { return known.name == name }
    // A structure has no cases.
    if isErrorValue(subject) { return false }
    guard let written = ofError(subject) else { return nil }
    if written != name { return false }
    return question.hasSuffix(")") && written.endIndex != subject.endIndex ? nil : true
  }

  /// Protocols of errors, which a type's name doesn't tell.
  private static let protocols: Set<String> = [
    "Error", "LocalizedError", "CustomNSError", "RecoverableError", "CancellableError",
  ]

  /// Whether a text is that of a new error, such as `TimeoutError(seconds: 5)`.
  private static func isErrorValue(_ text: Substring) -> Bool {
    let type = text.prefix(while: isWord)
    return type.hasSuffix("Error") && type.first?.isUppercase == true
      && text[type.endIndex...].first == "(" && text.hasSuffix(")")
  }

  /// The name of the case in an error such as `ChatError.offline`; nil for other texts.
  static func ofError(_ text: Substring) -> Substring? {
    guard let dot = text.firstIndex(of: "."), text[..<dot].hasSuffix("Error"),
      text[..<dot].allSatisfy(isWord)
    else { return nil }
    let name = text[text.index(after: dot)...].prefix(while: isWord)
    let rest = text[name.endIndex...]
    return rest.isEmpty || rest.hasPrefix("(") && rest.hasSuffix(")") ? name : nil
  }

  /// The case and the value of a result such as `.success(value)`; nil for other texts.
  static func ofResult(
    _ text: some StringProtocol
  ) -> (name: Substring, value: Substring)? {
    for name in ["success", "failure"] where text.hasPrefix(".\(name)(") && text.hasSuffix(")") {
      return (Substring(name), Substring(text.dropFirst(name.count + 2).dropLast()))
    }
    return nil
  }

  static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  /// The value and the name of the case in a question such as `result ~ .success`; nil for others.
  static func split(_ question: String) -> (subject: Substring, name: Substring)? {
    // Most questions have no such mark.
    guard question.utf8.contains(UInt8(ascii: "~")),
      let mark = question.range(of: " ~ .", options: .backwards)
    else { return nil }
    return (
      question[..<mark.lowerBound],
      question[mark.upperBound...].prefix(while: isWord)
    )
  }
}

extension String {
  /// Whether this contains a name as a whole word; an error is described by other words.
  fileprivate func mentions(_ name: String) -> Bool {
    var rest = self[...]
    while let found = rest.range(of: name) {
      let before = self[..<found.lowerBound].last
      let after = self[found.upperBound...]
      if !(before.map(CaseName.isWord) ?? false), !(after.first.map(CaseName.isWord) ?? false),
        !(name == "error" && after.hasPrefix(" of "))
      {
        return true
      }
      rest = self[found.upperBound...]
    }
    return false
  }
}

extension Expr {
  /// Whether this is `try? value`.
  fileprivate var isTried: Bool {
    if case .attempt(.optional, _) = kind { return true }
    guard case .tuple(let parts) = kind, parts.count == 1 else { return false }
    return parts[0].value.isTried
  }

  /// Whether this is `value as? Type`.
  fileprivate var isCast: Bool {
    guard case .compound(let pieces) = kind, pieces.count == 2, case .text(let cast) = pieces[1]
    else { return false }
    return cast.hasPrefix(" as? ")
  }
}

extension Value {
  /// The value and the type of `value as? Type`.
  var cast: (text: String, type: String)? {
    guard case .plain(let text) = self,
      let mark = text.range(of: " as? ", options: .backwards)
    else { return nil }
    let type = text[mark.upperBound...]
    guard type.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "." }) else { return nil }
    return (String(text[..<mark.lowerBound]), String(type))
  }
}
