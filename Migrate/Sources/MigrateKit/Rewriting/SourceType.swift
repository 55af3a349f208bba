import SwiftSyntax

/// Promises whose type the compiler gets from the operator that follows: without it, the type has to
/// be written.
extension ChainConverter {
  /// Whether an expression doesn't say what the value of its promise is.
  func needsType(_ source: ExprSyntax) -> Bool {
    guard let call = source.as(FunctionCallExprSyntax.self) else { return false }
    let name =
      call.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text
      ?? call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
    if name == "firstly", let closure = call.trailingClosure, closure.statements.count == 1,
      closure.signature?.returnClause == nil, let only = Fragment(closure)?.split.result
    {
      return needsType(only)
    }
    // Without a type, Google's initializer can take the closure for the value of the promise.
    if name == "Promise" || name == "Guarantee" { return call.lastClosure != nil }
    let labels = call.arguments.map { $0.label?.text ?? "_" }
    let all = labels + (call.trailingClosure == nil ? [] : [Declarations.trailing])
    let overloads = declarations.byName[name]?.filter { declarations.fits($0, all) } ?? []
    // An overload without such a parameter is chosen, unless the handler says otherwise.
    return !overloads.isEmpty
      && (overloads.allSatisfy(\.hasFreeResult)
        || overloads.contains(where: \.hasFreeResult) && writtenType != nil)
  }

  /// The type that the handler of the first operator gives to the promise before it.
  func sourceType() throws(ConversionFailure) -> String {
    guard let link = chain.links.first, let closure = firstHandler,
      // A handler without a parameter gets nothing.
      let type = writtenType ?? (closure.parameterCount == 0 ? "Void" : nil) ?? resultOfSource
    else { throw ConversionFailure(.type) }
    return "\(link.baseIsGuarantee ? "Guarantee" : "Promise")<\(type)>"
  }

  /// The type that is written for the parameter of the first handler.
  private var writtenType: String? {
    guard case .parameterClause(let clause)? = firstHandler?.signature?.parameterClause,
      clause.parameters.count == 1
    else { return nil }
    return clause.parameters.first?.type?.trimmedDescription
  }

  /// The type that is written for the result of the closure that makes the first promise.
  private var resultOfSource: String? {
    guard let call = chain.source.as(FunctionCallExprSyntax.self),
      call.calledExpression.trimmedDescription == "Promise", library == .google
    else { return nil }
    return call.lastClosure?.signature?.returnClause?.type.trimmedDescription
  }

  /// The closure that gets the value of the promise that the chain starts with.
  private var firstHandler: ClosureExprSyntax? {
    guard let link = chain.links.first, [.then, .map, .done, .get].contains(link.role) else {
      return nil
    }
    return link.syntax?.trailingClosure
      ?? link.syntax?.arguments.last?.expression.as(ClosureExprSyntax.self)
  }
}

extension FunctionDeclaration {
  /// Whether a generic parameter of the function is in its result and in no parameter.
  fileprivate var hasFreeResult: Bool {
    guard
      let generic = node.as(FunctionDeclSyntax.self)?.genericParameterClause?.parameters
    else { return false }
    func mentions(_ text: String, _ name: String) -> Bool {
      text.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" })
        .contains { $0 == name }
    }
    return generic.contains { parameter in
      let name = parameter.name.text
      return mentions(returns, name) && !parameters.contains { mentions($0.type, name) }
    }
  }
}

extension FunctionCallExprSyntax {
  /// The closure that is passed last.
  var lastClosure: ClosureExprSyntax? {
    trailingClosure ?? arguments.last?.expression.as(ClosureExprSyntax.self)
  }
}

extension ClosureExprSyntax {
  /// How many parameters the closure names or uses.
  fileprivate var parameterCount: Int {
    switch signature?.parameterClause {
    case .simpleInput(let list): list.count
    case .parameterClause(let clause): clause.parameters.count
    case nil: statements.description.contains("$0") ? 1 : 0
    }
  }
}
