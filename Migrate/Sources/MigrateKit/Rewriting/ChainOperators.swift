import SwiftSyntax

/// The statements for each operator of a chain.
extension ChainConverter {
  func append(
    _ links: [Link], to code: inout Code, isOuter: Bool
  ) throws(ConversionFailure) {
    for (index, link) in links.enumerated() {
      do {
        try append(link, to: &code, links.dropFirst(index + 1), isOuter: isOuter)
      } catch {
        throw ConversionFailure(error.decision, error.name ?? link.name)
      }
    }
  }

  private func append(
    _ link: Link, to code: inout Code, _ rest: ArraySlice<Link>, isOuter: Bool
  ) throws(ConversionFailure) {
    if let own = try handlerPlace(link), own != place { throw ConversionFailure(.executor) }
    code.convertedOperators += 1
    switch link.role {
    case .then, .map, .done, .get:
      try appendHandler(link, to: &code, rest, isOuter: isOuter)
    case .asVoid:
      code.body += multiline("_ = \(code.value)")
      code.value = "()"
    case .eachValue: try appendEach(link, to: &code)
    case .eachPromise: try appendEachPromise(link, to: &code)
    case .finally where link.name == "finally" && library == .promiseKit:
      code.afterward += try statements(link, needsNoReturn: true)
    case .finally where library == .google && !code.handlers.isEmpty:
      // After `catch`, `always` follows the handling of the error.
      code.afterward += try statements(link, needsNoReturn: true)
    case .finally where link.name != "ensureThen":
      guard isOuter,
        rest.allSatisfy({ [.catchError, .cauterize, .finally, .catchAndPass].contains($0.role) })
      else { throw ConversionFailure(.ensureInside) }
      code.cleanup.append(try statements(link, needsNoReturn: true))
    case .catchError, .cauterize, .catchAndPass:
      guard isOuter, rest.allSatisfy({ follows($0) }) else {
        throw ConversionFailure(.recoverInside)
      }
      try appendCatch(link, to: &code, canReturn: rest.isEmpty && chain.usage == .discarded)
    case .recover:
      guard isOuter, rest.isEmpty, chain.usage == .returned else {
        throw ConversionFailure(.recoverInside)
      }
      try appendRecover(link, to: &code)
    case .wait, .toAsync: throw ConversionFailure(.blocking)
    case .compactMap, .tap, .policy, .finally: throw ConversionFailure(.operatorUnknown)
    }
  }

  /// Whether an operator only runs code after the handling of errors.
  private func follows(_ link: Link) -> Bool {
    guard link.role == .finally else { return false }
    return library == .google ? chain.usage == .discarded : link.name == "finally"
  }

  /// Whether a handler that returns early skips nothing but the rest of itself.
  private func canReturn(_ link: Link, _ rest: ArraySlice<Link>, _ code: Code) -> Bool {
    guard chain.usage == .discarded, code.cleanup.isEmpty else { return false }
    if link.role == .done {
      return rest.allSatisfy { [.catchError, .cauterize].contains($0.role) }
    }
    guard library == .google, link.role == .then,
      let closure = closure(link), !closure.statements.contains(where: \.returnsValue)
    else { return false }
    let hasEnded = rest.drop { $0.role == .finally }
    return hasEnded.allSatisfy { $0.role == .catchAndPass }
  }

  /// Whether the operators after a handler ignore its value.
  func ignoresValue(_ rest: ArraySlice<Link>) -> Bool {
    chain.usage == .discarded
      && rest.allSatisfy { [.catchAndPass, .finally, .catchError, .cauterize].contains($0.role) }
  }

  func closure(_ link: Link) -> ClosureExprSyntax? {
    if let trailing = link.syntax?.trailingClosure { return trailing }
    return link.syntax?.arguments.last?.expression.as(ClosureExprSyntax.self)
  }

  func fragment(_ link: Link) throws(ConversionFailure) -> Fragment? {
    guard let closure = closure(link) else { return nil }
    guard let fragment = Fragment(closure),
      link.syntax?.additionalTrailingClosures.isEmpty ?? true
    else { throw ConversionFailure(.operatorUnknown) }
    if let capture = fragment.capture {
      captures.insert(capture)
    } else if closure.description.contains("self") {
      mentionsSelfWithoutCapture = true
    }
    return fragment
  }

  /// Places the statements of a handler that gets the value.
  private func appendHandler(
    _ link: Link, to code: inout Code, _ rest: ArraySlice<Link>, isOuter: Bool
  ) throws(ConversionFailure) {
    guard let fragment = try fragment(link) else { return try appendFunction(link, to: &code) }
    let (body, result) = fragment.split
    let canReturn = isOuter && canReturn(link, rest, code)
    let settles = isOuter && fragment.returnsEarly && canSettle(rest, code)
    if fragment.returnsEarly, !settles, !canReturn { throw ConversionFailure(.earlyReturn) }
    let renaming = try bind(fragment, needsValue: passesValueOn(link, rest), to: &code)
    code.body +=
      settles
      ? try settlingLines(body, link, fragment, renaming) : lines(body, renaming.names)
    if settles, result == nil, fragment.statements.contains(where: \.returnsValue) {
      code.fulfillsEverywhere = true
      return
    }
    switch link.role {
    case .done:
      if let result { code.body += lines(result, renaming.names) }
      code.value = "()"
    case .get:
      if let result { code.body += lines(result, renaming.names) }
      code.value = renaming.value
    case .map:
      guard let result else { throw ConversionFailure(.operatorUnknown) }
      if result.as(InfixOperatorExprSyntax.self)?.operator.is(AssignmentExprSyntax.self) == true {
        code.body += lines(result, renaming.names)
        code.value = "()"
      } else {
        code.value = text(result, renaming.names)
      }
    default:
      guard let result else {
        // Google's `then` passes the value on if its handler returns nothing.
        guard library == .google, !fragment.returnsAnywhere || canReturn || settles else {
          throw ConversionFailure(.operatorUnknown)
        }
        code.value = renaming.value
        return
      }
      try appendPromise(
        result, link, renaming, fragment, rest,
        isLast: isOuter && rest.isEmpty && chain.usage == .returned, to: &code)
    }
  }

  /// Awaits the promise that a handler returns.
  private func appendPromise(
    _ result: ExprSyntax, _ link: Link, _ renaming: Renaming, _ fragment: Fragment,
    _ rest: ArraySlice<Link>, isLast: Bool, to code: inout Code
  ) throws(ConversionFailure) {
    if library == .google {
      switch try kind(of: result, fragment, link) {
      case .promise: break
      case .value:
        code.value = text(result, renaming.names)
        return
      case .nothing:
        code.body += lines(result, renaming.names)
        code.value = renaming.value
        return
      case .notPromise:
        guard ignoresValue(rest) else { throw ConversionFailure(.operatorUnknown) }
        code.body += lines(result, renaming.names)
        code.value = "()"
        return
      }
    }
    if let value = Self.fulfilled(result) {
      code.value = value.map { text($0, renaming.names) } ?? "()"
      return
    }
    if let nested = inner[result.id], renaming.names.isEmpty {
      var copy = code
      do {
        let first = try source(nested)
        copy.value = "try await \(Self.receiver(first)).\(bridge)"
        try append(nested.links, to: &copy, isOuter: false)
        code = copy
        return
      } catch {
        // The nested chain stays a promise, which is awaited.
      }
    }
    if isLast, let error = Self.rejected(result) {
      code.body += lines(error, renaming.names).enumerated().map { $0 == 0 ? "throw \($1)" : $1 }
      code.fulfillsEverywhere = true
      return
    }
    code.value = try awaited(result, renaming.names, fragment, isLast: isLast)
  }

  /// The expression that awaits the promise that a handler returns.
  ///
  /// A promise that gets its type from its place keeps it.
  func awaited(
    _ result: ExprSyntax, _ names: [String: String], _ fragment: Fragment, isLast: Bool
  ) throws(ConversionFailure) -> String {
    let written = text(result, names)
    var promise = Self.receiver(written)
    let isInitializer = Self.isInitializer(result)
    if isInitializer || needsType(result) {
      guard let type = fragment.result ?? (isLast ? chain.function.returns : nil) else {
        throw ConversionFailure(.type)
      }
      promise =
        isInitializer && type.hasPrefix("Promise<")
        ? type + written.dropFirst("Promise".count) : "(\(written) as \(type))"
    }
    return "try await \(promise).\(bridge)"
  }

  /// Whether an expression creates a promise without saying its type.
  static func isInitializer(_ node: ExprSyntax) -> Bool {
    node.as(FunctionCallExprSyntax.self)?.calledExpression.trimmedDescription == "Promise"
  }

  /// The error of a promise that is written as rejected: `Promise(error: error)`.
  static func rejected(_ node: ExprSyntax) -> ExprSyntax? {
    guard let call = node.as(FunctionCallExprSyntax.self), call.arguments.count == 1,
      let only = call.arguments.first, only.label?.text == "error",
      call.calledExpression.trimmedDescription.hasPrefix("Promise")
    else { return nil }
    return only.expression
  }

  /// What a handler returns; the last one is either a value or nothing.
  enum ResultKind { case promise, value, nothing, notPromise }

  /// Which overload of Google's `then` a handler selects.
  func kind(
    of result: ExprSyntax, _ fragment: Fragment, _ link: Link
  ) throws(ConversionFailure) -> ResultKind {
    switch link.overload {
    case .promise, .guarantee: return .promise
    case .value: return .value
    case .nothing: return .nothing
    case nil: break
    }
    if let written = fragment.result {
      if ["Void", "()"].contains(written) { return .nothing }
      return guessType(written).isThenable ? .promise : .value
    }
    if Self.fulfilled(result) != nil { return .promise }
    if let kind = try kind(ofForm: result) { return kind }
    guard case .closure(let body)? = link.handler?.kind else {
      throw ConversionFailure(.operatorUnknown)
    }
    switch body.steps.last {
    case .exit(let value?, _)?, .expression(let value)?:
      if value.type.isThenable { return .promise }
      // An optional promise isn't a promise.
      let isOptional = result.isOptionalChain
      guard value.type == .other || isOptional else { break }
      if isOptional { return .notPromise }
      return declarations.hasValue(value).map { $0 ? .value : .nothing } ?? .notPromise
    case .assign?:
      return .nothing
    default: break
    }
    throw ConversionFailure(.operatorUnknown)
  }

  /// The value of a promise that is written as fulfilled: `.value(x)`; the outer nil if it isn't.
  static func fulfilled(_ node: ExprSyntax) -> ExprSyntax?? {
    if let call = node.as(FunctionCallExprSyntax.self) {
      let callee = call.calledExpression.trimmedDescription
      if call.trailingClosure == nil,
        callee == ".value" || callee.hasSuffix("Promise.value")
          || callee.hasPrefix("Promise<") && callee.hasSuffix(">.value")
      {
        guard call.arguments.count == 1 else { return nil }
        return .some(call.arguments.first?.expression)
      }
      if callee == "Promise", call.trailingClosure == nil, call.arguments.count == 1,
        let only = call.arguments.first, only.label == nil, only.expression.isLiteral
      {
        return .some(only.expression)
      }
      if callee == "Promise", call.arguments.isEmpty, call.trailingClosure == nil {
        return .some(nil)
      }
    }
    return nil
  }

  /// The text of an expression, in parentheses if a member can't follow it.
  static func receiver(_ text: String) -> String {
    var plain = text
    if plain.hasPrefix("try ") { plain.removeFirst(4) }
    let needsNone =
      !plain.contains(" ? ") && !plain.contains(" ?? ") && !plain.hasPrefix("if ")
      && !plain.hasPrefix("switch ") && !plain.contains(" as ")
    return needsNone ? plain : "(\(plain))"
  }

  /// A handler that is a function or a key path.
  private func appendFunction(_ link: Link, to code: inout Code) throws(ConversionFailure) {
    guard let written = link.syntax?.arguments.last?.expression else {
      throw ConversionFailure(.operatorUnknown)
    }
    if let path = written.as(KeyPathExprSyntax.self), link.role == .map, path.root == nil {
      code.value = "\(Self.inParentheses(code.value))\(path.components.trimmedDescription)"
      return
    }
    let function = written.trimmedDescription
    if function.contains("self") { mentionsSelfWithoutCapture = true }
    // In parentheses, a function is called without its labels.
    let call =
      "\(canThrow(written) ? "try " : "")(\(function))(\(code.value == "()" ? "" : code.value))"
    switch link.role {
    case .map: code.value = call
    case .done:
      code.body += multiline(call)
      code.value = "()"
    default: throw ConversionFailure(.operatorUnknown)
    }
  }

  /// Whether the declarations don't say that a function throws nothing.
  private func canThrow(_ function: ExprSyntax) -> Bool {
    let member = function.as(MemberAccessExprSyntax.self)
    guard member == nil || member?.base?.trimmedDescription == "self",
      let name = (member?.declName ?? function.as(DeclReferenceExprSyntax.self))?.baseName.text
    else { return true }
    if let parameter = chain.function.parameters.first(where: { $0.name == name }) {
      return parameter.type.contains("throws") || !parameter.type.contains("->")
    }
    let own = (declarations.byName[name] ?? []).filter {
      ["", chain.function.owner].contains($0.owner)
    }
    return own.isEmpty || own.contains(where: \.throwsErrors)
  }

  private static func inParentheses(_ text: String) -> String {
    text.contains(" ") ? "(\(text))" : text
  }

  private func appendEach(_ link: Link, to code: inout Code) throws(ConversionFailure) {
    guard let fragment = try fragment(link), link.name.hasSuffix("Values") else {
      throw ConversionFailure(.operatorUnknown)
    }
    let name = String(link.name.dropLast("Values".count))
    guard name != "sorted", let closure = closure(link) else {
      throw ConversionFailure(.operatorUnknown)
    }
    let prefix = fragment.hasTry ? "try " : ""
    code.value = "\(prefix)\(Self.inParentheses(code.value)).\(name) \(closure.trimmedDescription)"
  }

  private func appendEachPromise(_ link: Link, to code: inout Code) throws(ConversionFailure) {
    guard link.name == "thenMap", let fragment = try fragment(link), let closure = closure(link)
    else { throw ConversionFailure(.operatorUnknown) }
    let attempt = fragment.hasTry ? "try " : ""
    let elements = Self.inParentheses(code.value)
    code.value =
      "try await when(fulfilled: \(attempt)\(elements).map \(closure.trimmedDescription)).\(bridge)"
  }
}
