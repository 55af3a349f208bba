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
    if name == "Promise" || name == "Guarantee" {
      guard let closure = call.trailingClosure else { return false }
      return library == .promiseKit || closure.parameterCount == 2
    }
    let labels = call.arguments.map { $0.label?.text ?? "_" }
    return declarations.byName[name]?.contains {
      $0.hasFreeResult
        && declarations.fits($0, labels + (call.trailingClosure == nil ? [] : [Declarations.trailing]))
    } ?? false
  }

  /// The type that the handler of the first operator gives to the promise before it.
  func sourceType() throws(ConversionFailure) -> String {
    guard let link = chain.links.first, let call = link.syntax,
      let closure = call.trailingClosure
        ?? call.arguments.last?.expression.as(ClosureExprSyntax.self),
      [.then, .map, .done, .get].contains(link.role)
    else { throw ConversionFailure(.type) }
    let promise = link.baseIsGuarantee ? "Guarantee" : "Promise"
    if case .parameterClause(let clause)? = closure.signature?.parameterClause,
      clause.parameters.count == 1, let type = clause.parameters.first?.type
    {
      return "\(promise)<\(type.trimmedDescription)>"
    }
    // A handler without a parameter gets nothing.
    guard closure.parameterCount == 0 else { throw ConversionFailure(.type) }
    return "\(promise)<Void>"
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
