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
      let isPromise = text == "self" && library != nil && Declarations.thenables.contains(owner)
      let type =
        isPromise
        ? .promise : scope.type(of: text) ?? declarations.propertyType(text, in: owner)
      let isForeign = scope.type(of: text) == nil && declarations.isForeign(text, in: file)
      // A type isn't a promise, but one of its static members can be.
      let isType = text.first?.isUppercase == true && scope.type(of: text) == nil
      return Expr(
        .name(name.fullName), place, isForeign || isType && type == .unknown ? .other : type)
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
    case .dictionaryExpr(let dictionary) where dictionary.content.is(TokenSyntax.self):
      return Expr(.list([]), place, .other)
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
      let inner = expression(chained.expression)
      inner.isOptional = true
      return inner
    case .forceUnwrapExpr(let forced):
      let inner = expression(forced.expression)
      inner.isForced = true
      return inner
    case .integerLiteralExpr, .floatLiteralExpr, .booleanLiteralExpr, .nilLiteralExpr,
      .superExpr, .typeExpr:
      return Expr(.literal(node.trimmedDescription), place, .other)
    case .genericSpecializationExpr(let generic):
      return Expr(.name(generic.trimmedDescription), place)
    case .stringLiteralExpr(let string):
      return Expr(.compound(pieces(Syntax(string))), place, .other)
    case .asExpr(let cast):
      let type = declarations.type(named: cast.type.trimmedDescription)
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
      if let token = child.as(TokenSyntax.self) {
        return token.isTrailingComma ? [] : [.text(token.text)]
      }
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
    let name = node.declName.fullName
    if node.base == nil, name == "value", isExpectedPromise(Syntax(node)) {
      return Expr(.member(nil, name), place, .promise)
    }
    guard let base = node.base else { return Expr(.member(nil, name), place) }
    if Self.modules.contains(base.trimmedDescription) { return Expr(.name(name), place) }
    let lowered = expression(base)
    // `Owner.Inner` and `Inner` are one type inside `Owner`.
    if name.first?.isUppercase == true, case .name(owner) = lowered.kind {
      return Expr(.name(name), place, .other)
    }
    if lowered.type.isThenable, ["value", "result"].contains(name), library == .pledge {
      return Expr(.chain(link(lowered, .toAsync, name, [], nil, place, nil)), place, .other)
    }
    if lowered.type.isThenable, ["firstValue", "lastValue"].contains(name) {
      return Expr(.chain(link(lowered, .eachValue, name, [], nil, place, nil)), place, .promise)
    }
    if ["promise", "pledge", "promiseKit"].contains(name), lowered.type.isThenable {
      return lowered
    }
    let type = declarations.propertyType(name, in: typeName(of: lowered))
    let isOther =
      type == .unknown && declarations.isForeign(name, in: file) || isOfOtherLibrary(name)
    return Expr(.member(lowered, name), place, isOther ? .other : type)
  }

  /// Modules whose names stand before those of their functions.
  static let modules: Set<String> = ["_Concurrency", "Swift", "PromiseKit", "Promises"]

  /// Members and functions of the standard library, which have no promises.
  static let collectionNames: Set<String> = [
    "keys", "values", "allCases", "utf8", "indices", "count", "first", "last", "isEmpty", "zip",
    "filter", "sorted", "reversed", "enumerated", "prefix", "suffix", "dropFirst", "dropLast",
    "joined", "split", "components", "lowercased", "uppercased", "trimmingCharacters", "stride",
    "lazy",
  ]

  /// Members of publishers that promises don't have.
  private static let publisherNames: Set<String> = [
    "receive", "removeDuplicates", "handleEvents", "setFailureType", "mapError", "combineLatest",
    "eraseToAnyPublisher", "merge", "prepend", "sink", "assign", "collect", "scan", "replaceError",
    "replaceNil", "replaceEmpty", "switchToLatest", "throttle", "share", "multicast", "publisher",
    "objectWillChange", "tryMap", "withLatestFrom", "subscribe", "asObservable", "asDriver",
  ]

  /// Whether a member is one of collections or publishers, which isn't a promise, nor a promise's.
  func isOfOtherLibrary(_ name: String) -> Bool {
    Self.collectionNames.contains(name)
      || Self.publisherNames.contains(name)
        && declarations.byName[name]?.contains { $0.type.isThenable } != true
  }

  func body(_ node: ClosureExprSyntax) -> Body {
    scope.push()
    let outer = resultType
    let written = node.signature?.returnClause?.type.trimmedDescription
    resultType = written ?? nextClosureResult
    nextClosureResult = nil
    expectResult(of: node.statements)
    defer {
      scope.pop()
      resultType = outer
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
          name,
          parameter.type.map { declarations.type(named: $0.trimmedDescription) } ?? parameterType)
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
    body.writtenResult = written
    body.canThrow = node.statements.containsThrow
    body.onlyFulfills = !body.canThrow && node.onlyFulfills(with: names)
    body.captures =
      node.signature?.capture?.items.compactMap { item in
        item.initializer.map { (item.name.text, expression($0.value)) }
      } ?? []
    return body
  }
}

extension TokenSyntax {
  /// Whether this is a comma after the last element of a list.
  fileprivate var isTrailingComma: Bool {
    text == "," && ["]", ")"].contains(nextToken(viewMode: .sourceAccurate)?.text)
  }
}

extension DeclReferenceExprSyntax {
  /// The name, with the labels that are written: `init(number:)`.
  fileprivate var fullName: String { baseName.text + (argumentNames?.trimmedDescription ?? "") }
}

extension ClosureExprSyntax {
  /// Whether the resolver or continuation that is the only parameter, or the first of Google's two
  /// functions, is only used to fulfill.
  fileprivate func onlyFulfills(with parameters: [String]) -> Bool {
    guard let name = parameters.first, parameters.count <= 2 else { return false }
    var isUsed = false
    for token in statements.tokens(viewMode: .sourceAccurate) {
      if parameters.count == 2, token.text == parameters[1] { return false }
      guard token.text == name else { continue }
      isUsed = true
      let node = token.parent?.parent
      if parameters.count == 2 || node?.is(FunctionCallExprSyntax.self) == true {
        continue
      }
      guard let member = node?.as(MemberAccessExprSyntax.self), member.base?.id == token.parent?.id
      else { return false }
      if member.declName.baseName.text.hasPrefix("fulfill") { continue }
      guard member.declName.baseName.text == "resume",
        let call = member.parent?.as(FunctionCallExprSyntax.self),
        call.arguments.first?.label.map({ $0.text == "returning" }) ?? call.arguments.isEmpty
      else { return false }
    }
    return isUsed
  }
}

extension SyntaxProtocol {
  /// Whether this contains `try` or `throw`, outside nested closures.
  var containsThrow: Bool {
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
