import SwiftSyntax

extension Lowering {
  func kind(of node: TryExprSyntax) -> Expr.Attempt {
    switch node.questionOrExclamationMark?.tokenKind {
    case .postfixQuestionMark: .optional
    case .exclamationMark: .force
    default: .propagate
    }
  }

  func expression(_ node: ExprSyntax) -> Expr {
    let place = place(node)
    switch node.as(ExprSyntaxEnum.self) {
    case .declReferenceExpr(let name):
      let text = name.baseName.text
      let type = scope.type(of: text) ?? declarations.propertyType(text, in: owner)
      let isForeign = scope.type(of: text) == nil && declarations.isForeign(text, in: file)
      return Expr(.name(text), place, isForeign ? .other : type)
    case .memberAccessExpr(let member):
      return memberAccess(member, place)
    case .functionCallExpr(let call):
      return self.call(call, place)
    case .closureExpr(let closure):
      return Expr(.closure(body(closure)), place, .other)
    case .tryExpr(let attempt):
      let inner = expression(attempt.expression)
      return Expr(.attempt(kind(of: attempt), inner), place, inner.type)
    case .awaitExpr(let awaited):
      return Expr(.await(expression(awaited.expression)), place, .other)
    case .tupleExpr(let tuple):
      if tuple.elements.count == 1, let only = tuple.elements.first, only.label == nil {
        return expression(only.expression)
      }
      return Expr(.tuple(arguments(tuple.elements)), place, .other)
    case .arrayExpr(let array):
      return Expr(.list(array.elements.map { expression($0.expression) }), place, .other)
    case .ternaryExpr(let ternary):
      let first = expression(ternary.thenExpression)
      return Expr(
        .conditional(expression(ternary.condition), first, expression(ternary.elseExpression)),
        place, first.type)
    case .ifExpr, .switchExpr:
      return Expr(
        .block(steps(CodeBlockItemListSyntax([CodeBlockItemSyntax(item: .expr(node))]))), place)
    case .keyPathExpr(let path):
      return Expr(.keyPath(path.components.trimmedDescription), place, .other)
    case .optionalChainingExpr(let chained):
      return expression(chained.expression)
    case .forceUnwrapExpr(let forced):
      return expression(forced.expression)
    case .integerLiteralExpr, .floatLiteralExpr, .booleanLiteralExpr, .nilLiteralExpr,
      .superExpr, .typeExpr:
      return Expr(.literal(node.trimmedDescription), place, .other)
    case .genericSpecializationExpr(let generic):
      return Expr(.name(generic.trimmedDescription), place)
    case .stringLiteralExpr(let string):
      return Expr(.compound(pieces(Syntax(string))), place, .other)
    case .asExpr(let cast):
      let type = guessType(cast.type.trimmedDescription)
      let inner = expression(cast.expression)
      let mark = cast.questionOrExclamationMark?.text == "?" ? "?" : ""
      return Expr(
        .compound([
          .expression(inner), .text(" as\(mark) \(cast.type.trimmedDescription)"),
        ]), place, type)
    case .inOutExpr(let inOut):
      return Expr(
        .compound([.text("&"), .expression(expression(inOut.expression))]), place, .other)
    default:
      return Expr(.compound(pieces(Syntax(node))), place, .other)
    }
  }

  /// The tokens of a node, with the expressions inside it lowered.
  private func pieces(_ node: Syntax) -> [Expr.Piece] {
    node.children(viewMode: .sourceAccurate).flatMap { child -> [Expr.Piece] in
      if let token = child.as(TokenSyntax.self) { return [.text(token.text)] }
      if let inner = child.as(ExprSyntax.self), !child.is(BinaryOperatorExprSyntax.self) {
        return [.expression(expression(inner))]
      }
      if child.is(TypeSyntax.self) { return [.text(child.trimmedDescription)] }
      return pieces(child)
    }
  }

  func arguments(_ list: LabeledExprListSyntax) -> [Expr.Argument] {
    list.map { Expr.Argument(label: $0.label?.text, value: expression($0.expression)) }
  }

  private func memberAccess(_ node: MemberAccessExprSyntax, _ place: Place) -> Expr {
    let name = node.declName.baseName.text
    guard let base = node.base else { return Expr(.member(nil, name), place) }
    let lowered = expression(base)
    if lowered.type.isThenable, ["value", "result"].contains(name), library == .pledge {
      return Expr(.chain(link(lowered, .toAsync, name, [], nil, place, nil)), place, .other)
    }
    if lowered.type.isThenable, ["firstValue", "lastValue"].contains(name) {
      return Expr(.chain(link(lowered, .eachValue, name, [], nil, place, nil)), place, .promise)
    }
    if ["promise", "pledge", "promiseKit"].contains(name), lowered.type.isThenable {
      return lowered
    }
    let isSelf = if case .name("self") = lowered.kind { true } else { false }
    let type = declarations.propertyType(name, in: isSelf ? owner : nil)
    let isForeign = type == .unknown && declarations.isForeign(name, in: file)
    return Expr(
      .member(lowered, name), place,
      isForeign || Self.collectionNames.contains(name) ? .other : type)
  }

  /// Members and functions of the standard library, which have no promises.
  private static let collectionNames: Set<String> = [
    "keys", "values", "allCases", "utf8", "indices", "count", "first", "last", "isEmpty", "zip",
    "filter", "sorted", "reversed", "enumerated", "prefix", "suffix", "dropFirst", "dropLast",
    "joined", "split", "components", "lowercased", "uppercased", "trimmingCharacters", "stride",
  ]

  func body(_ node: ClosureExprSyntax) -> Body {
    scope.push()
    let outer = returnsPromise
    let written = node.signature?.returnClause?.type.trimmedDescription
    returnsPromise = written.map { guessType($0).isThenable } ?? nextClosureReturnsPromise
    nextClosureReturnsPromise = false
    if returnsPromise, node.statements.count == 1 { expectPromise(node.statements.first?.item) }
    defer {
      scope.pop()
      returnsPromise = outer
    }
    let parameterType = nextParametersAreValues ? TypeGuess.other : .unknown
    nextParametersAreValues = false
    var isWritten = false
    var names: [String] = []
    switch node.signature?.parameterClause {
    case .simpleInput(let list): names = list.map { $0.name.text }
    case .parameterClause(let clause):
      isWritten = true
      names = clause.parameters.map { parameter in
        let name = (parameter.secondName ?? parameter.firstName).text
        scope.declare(
          name, parameter.type.map { guessType($0.trimmedDescription) } ?? parameterType)
        return name
      }
    case nil: break
    }
    for name in names where !isWritten { scope.declare(name, parameterType) }
    if names.isEmpty {
      let last = max(0, node.statements.lastDollarIndex)
      names = (0...last).map { "$\($0)" }
      for name in names { scope.declare(name, parameterType) }
    }
    let attributes = node.signature?.attributes ?? []
    let single = node.statements.first?.item
    let isExpression =
      node.statements.count == 1
      && (single?.is(ExprSyntax.self) == true || single?.is(ExpressionStmtSyntax.self) == true)
    let body = Body(
      parameters: names, steps: steps(node.statements), isExpression: isExpression,
      isMainActor: attributeNames(attributes).contains("MainActor"),
      resultIsVoid: false, place: place(node))
    body.hasParameters =
      node.signature?.parameterClause != nil || node.statements.lastDollarIndex >= 0
    body.canThrow = node.statements.containsThrow
    return body
  }

  // MARK: Calls

  private func call(_ node: FunctionCallExprSyntax, _ place: Place) -> Expr {
    let member = node.calledExpression.as(MemberAccessExprSyntax.self)
    let receiver = member?.base.map(expression)
    let name = member?.declName.baseName.text ?? ""
    let isOperator =
      library.flatMap { Operators.role(name, $0) } != nil
      && (receiver?.type.isThenable ?? false || Operators.isTelling(name))
    nextParametersAreValues = isOperator
    var all = arguments(node.arguments)
    nextParametersAreValues = isOperator
    defer { nextParametersAreValues = false }
    if let trailing = node.trailingClosure {
      nextClosureReturnsPromise = requiresPromise(node.calledExpression)
      all.append(
        Expr.Argument(label: Declarations.trailing, value: expression(ExprSyntax(trailing))))
    }
    for extra in node.additionalTrailingClosures {
      all.append(
        Expr.Argument(label: extra.label.text, value: expression(ExprSyntax(extra.closure))))
    }
    if let member, let lowered = receiver {
      if let link = chainLink(lowered, name, all, node) {
        return Expr(.chain(link), self.place(member.declName), resultType(link))
      }
      let callee = Expr(.member(lowered, name), self.place(member.declName))
      return Expr(.call(callee, all), place, callType(lowered, name, all))
    }
    let callee = expression(node.calledExpression)
    return Expr(.call(callee, all), place, callType(callee, all))
  }

  /// Whether a closure passed to `callee` has to return a promise.
  private func requiresPromise(_ callee: ExprSyntax) -> Bool {
    guard library == .promiseKit else { return false }
    if let member = callee.as(MemberAccessExprSyntax.self) {
      return ["then", "thenMap", "thenFlatMap"].contains(member.declName.baseName.text)
    }
    return callee.as(DeclReferenceExprSyntax.self)?.baseName.text == "firstly"
  }

  /// The operator that a call applies to a promise; nil if the call isn't one, or if that isn't
  /// known.
  private func chainLink(
    _ base: Expr, _ name: String, _ all: [Expr.Argument], _ node: FunctionCallExprSyntax
  ) -> Link? {
    guard let library, let role = Operators.role(name, library) else { return nil }
    if role == .toAsync || role == .wait, !all.isEmpty { return nil }
    guard let member = node.calledExpression.as(MemberAccessExprSyntax.self) else { return nil }
    let place = place(member.declName)
    let hasHandler = all.contains { $0.value.isHandler }
    if let module = declarations.index?.module(
      path: file.path, line: place.line, column: place.column)
    {
      guard Library(rawValue: module) != nil else {
        decisions.others += 1
        return nil
      }
      decisions.byIndex += 1
    } else if base.type.isThenable {
      decisions.byDeclaration += 1
    } else if declarations.declaresOperator(name) {
      // The tree has a function of its own with this name: only a type decides.
      if hasHandler, base.type != .other { decisions.undecided.append(place) }
      return nil
    } else if Operators.isTelling(name),
      hasHandler || ["cauterize", "ignoreErrors", "asVoid"].contains(name)
    {
      decisions.byName += 1
    } else if continuesAsChain(node) || all.first?.label == "on" && hasHandler {
      decisions.byChain += 1
    } else if base.type == .other {
      decisions.others += 1
      return nil
    } else {
      // Without the import, a file can use promises of other files, but seldom does.
      if hasHandler, Library.used(by: file.imports) != nil { decisions.undecided.append(place) }
      return nil
    }
    return link(base, role, name, all, library, place, node)
  }

  /// Whether a later operator of the same chain is one that only promises have.
  private func continuesAsChain(_ node: FunctionCallExprSyntax) -> Bool {
    var current = Syntax(node)
    if promisePositions.contains(current.id) { return true }
    while let member = current.parent?.as(MemberAccessExprSyntax.self),
      let call = member.parent?.as(FunctionCallExprSyntax.self), let library
    {
      let name = member.declName.baseName.text
      guard Operators.role(name, library) != nil else { return false }
      if Operators.isTelling(name) { return true }
      current = Syntax(call)
      if promisePositions.contains(current.id) { return true }
    }
    return false
  }

  private func link(
    _ base: Expr, _ role: Role, _ name: String, _ all: [Expr.Argument], _ library: Library?,
    _ place: Place, _ node: FunctionCallExprSyntax?
  ) -> Link {
    let handler = all.last { $0.label != "on" && $0.label != "flags" && $0.label != "policy" }
    let link = Link(
      base: base, role: role, name: name, library: library ?? self.library ?? .pledge,
      executor: all.first { $0.label == "on" }?.value,
      policy: all.first { $0.label == "policy" }?.value, arguments: all,
      handler: handler?.value, place: place, syntax: node)
    link.overload = declarations.index?.symbol(
      path: file.path, line: place.line, column: place.column
    ).flatMap(overload)
    links.append(link)
    return link
  }

  /// The overload that a USR names, by what the handler in its type returns.
  private func overload(_ usr: String) -> Link.Overload? {
    if usr.contains("C4then2on_") && usr.hasPrefix("s:8Promises") {
      if usr.hasSuffix("_qd__xKctlF") { return .value }
      return usr.hasSuffix("_yxKctF") ? .nothing : .promise
    }
    if usr.contains("7recover2on_") {
      return usr.hasSuffix("_xs5Error_pKctF") ? .value : .promise
    }
    if usr.contains("E7recover2on5flags") {
      return usr.contains("9Guarantee") ? .guarantee : .promise
    }
    return nil
  }

  private func resultType(_ link: Link) -> TypeGuess {
    switch link.role {
    case .wait, .toAsync: return .other
    case .cauterize: return .guarantee
    case .catchError: return .guarantee
    case .recover:
      // The overload that returns a guarantee is chosen for closures that can't throw and return
      // one; only a written type tells.
      return .promise
    case .map, .done, .get, .then, .finally, .asVoid:
      return link.base.type == .guarantee ? .guarantee : .promise
    default: return .promise
    }
  }

  private func labels(_ all: [Expr.Argument]) -> [String] { all.map { $0.label ?? "_" } }

  private func callType(_ callee: Expr, _ all: [Expr.Argument]) -> TypeGuess {
    guard case .name(let name) = callee.kind else { return .unknown }
    if let local = scope.type(of: name), local != .unknown { return .unknown }
    let plain = name.split(separator: "<").first.map(String.init) ?? name
    if library != nil {
      switch plain {
      case "Promise": return .promise
      case "Guarantee": return .guarantee
      case "firstly": return closureType(all) == .guarantee ? .guarantee : .promise
      case "race", "when", "all", "any", "retry", "wrap", "attempt":
        let isGuarantee = all.contains { $0.label == "resolved" || $0.label == "guarantees" }
        if declarations.byName[plain] == nil {
          return isGuarantee ? .guarantee : .promise
        }
      case "after": if all.count == 1 { return .guarantee }
      default: break
      }
    }
    if plain.first?.isUppercase == true || Self.collectionNames.contains(plain) { return .other }
    if declarations.isForeign(plain, in: file) { return .other }
    return declarations.resultType(ofCall: plain, labels: labels(all), in: owner)
  }

  private func callType(_ base: Expr, _ name: String, _ all: [Expr.Argument]) -> TypeGuess {
    if case .name(let text) = base.kind {
      let type = guessType(text)
      if type.isThenable || ["Promise", "Guarantee"].contains(text) {
        return ["pending", "withResolvers"].contains(name)
          ? .other : (text.hasPrefix("Guarantee") ? .guarantee : .promise)
      }
      if text == "self" {
        return declarations.resultType(ofCall: name, labels: labels(all), in: owner)
      }
    }
    if all.contains(where: {
      if case .member(nil, "promise") = $0.value.kind { true } else { false }
    }) {
      // `dataTask(.promise, …)`: this first argument selects overloads that return promises.
      return .promise
    }
    if Self.collectionNames.contains(name) || declarations.isForeign(name, in: file) {
      return .other
    }
    // What `map` of another type than a promise returns isn't one either.
    if base.type == .other, library.map({ Operators.role(name, $0) != nil }) ?? false {
      return .other
    }
    return declarations.resultType(ofCall: name, labels: labels(all), in: "")
  }

  private func closureType(_ all: [Expr.Argument]) -> TypeGuess {
    guard case .closure(let body)? = all.last?.value.kind else { return .unknown }
    guard case .expression(let value)? = body.steps.last, body.isExpression else { return .unknown }
    return value.type
  }
}

extension Expr {
  /// Whether this can be the handler of an operator.
  var isHandler: Bool {
    switch kind {
    case .closure, .keyPath, .name, .member: true
    default: false
    }
  }
}

extension SyntaxProtocol {
  /// Whether this contains `try` or `throw`, outside nested closures.
  fileprivate var containsThrow: Bool {
    children(viewMode: .sourceAccurate).contains { child in
      if child.is(ClosureExprSyntax.self) || child.is(FunctionDeclSyntax.self) { return false }
      if let attempt = child.as(TryExprSyntax.self), attempt.questionOrExclamationMark == nil {
        return true
      }
      return child.is(ThrowStmtSyntax.self) || child.containsThrow
    }
  }

  /// The highest number of a shorthand argument such as `$1`, outside nested closures; -1 if none.
  fileprivate var lastDollarIndex: Int {
    var last = -1
    for child in children(viewMode: .sourceAccurate) {
      if child.is(ClosureExprSyntax.self) { continue }
      if let token = child.as(TokenSyntax.self), case .dollarIdentifier(let text) = token.tokenKind
      {
        last = max(last, Int(text.dropFirst()) ?? -1)
      }
      last = max(last, child.lastDollarIndex)
    }
    return last
  }
}
