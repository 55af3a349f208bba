import SwiftSyntax

/// What the form of a result says about the overload of Google's `then`, where its declaration says
/// nothing.
extension ChainConverter {
  func kind(ofForm result: ExprSyntax) throws(ConversionFailure) -> ResultKind? {
    if let name = result.as(DeclReferenceExprSyntax.self) {
      // What handlers get is never a promise.
      let closure = result.closure(declaring: name.baseName.text)
      return closure?.isHandlerOfValue == true ? .value : nil
    }
    guard let call = result.as(FunctionCallExprSyntax.self) else { return nil }
    if let member = call.calledExpression.as(MemberAccessExprSyntax.self) {
      let name = member.declName.baseName.text
      let isUnknown = declarations.byName[name] == nil
      if let base = member.base?.as(DeclReferenceExprSyntax.self),
        result.closure(declaring: base.baseName.text)?.getsContinuation == true
      {
        return .nothing
      }
      if isUnknown, name == "async", call.trailingClosure != nil,
        member.base?.trimmedDescription.hasPrefix("DispatchQueue.") == true
      {
        return .nothing
      }
      if isUnknown, ["map", "compactMap", "filter", "flatMap", "sorted"].contains(name) {
        return .value
      }
    }
    if isGeneric(call) {
      // The result is that of a closure, perhaps a promise.
      guard call.lastClosure?.hasNoValue == true else { throw ConversionFailure(.operatorUnknown) }
      return .nothing
    }
    return kind(ofSynchronous: call)
  }

  /// Whether the result of a function that the program declares has a type that calls determine.
  private func isGeneric(_ call: FunctionCallExprSyntax) -> Bool {
    let callee = call.calledExpression
    let name =
      callee.as(DeclReferenceExprSyntax.self)?.baseName.text
      ?? callee.as(MemberAccessExprSyntax.self)?.declName.baseName.text ?? ""
    return declarations.byName[name]?.contains { function in
      let generic = function.node.as(FunctionDeclSyntax.self)?.genericParameterClause?.parameters
      return generic?.contains { function.returns.hasPrefix($0.name.text) } ?? false
        || Self.placeholders.contains(function.returns)
    } ?? false
  }

  /// Usual names of the generic parameters of types.
  private static let placeholders: Set<String> = [
    "T", "U", "R", "Value", "Element", "Result", "Output", "Success", "Wrapped",
  ]

  /// A handler that isn't `async` calls functions that aren't.
  private func kind(ofSynchronous call: FunctionCallExprSyntax) -> ResultKind? {
    let name: String
    switch call.calledExpression.as(ExprSyntaxEnum.self) {
    case .declReferenceExpr(let reference): name = reference.baseName.text
    case .memberAccessExpr(let member)
    where member.base?.trimmedDescription == "self":
      name = member.declName.baseName.text
    default: return nil
    }
    let labels =
      call.arguments.map { $0.label?.text ?? "_" }
      + (call.trailingClosure == nil ? [] : [Declarations.trailing])
    let own =
      declarations.byName[name]?.filter {
        $0.owner == chain.function.owner && !$0.isAsync && declarations.fits($0, labels)
      } ?? []
    if own.isEmpty { return nil }
    if own.allSatisfy({ $0.type.isThenable }) { return .promise }
    return own.allSatisfy(\.isVoid) ? .nothing : nil
  }
}

extension ExprSyntax {
  /// The closure around this that has a parameter with a name.
  fileprivate func closure(declaring name: String) -> ClosureExprSyntax? {
    var node = parent
    while let current = node, !current.is(FunctionDeclSyntax.self) {
      if let closure = current.as(ClosureExprSyntax.self),
        Fragment(closure)?.parameters.contains(name) ?? false
      {
        return closure
      }
      node = current.parent
    }
    return nil
  }
}

extension ClosureExprSyntax {
  /// Whether the form of the closure shows that its result is `Void`.
  fileprivate var hasNoValue: Bool {
    guard signature?.returnClause == nil, !statements.contains(where: \.returnsValue) else {
      return false
    }
    guard statements.count == 1, case .expr(let only)? = statements.first?.item else { return true }
    return only.as(InfixOperatorExprSyntax.self)?.operator.is(AssignmentExprSyntax.self) ?? false
  }

  /// Whether the closure is a handler that gets a value.
  fileprivate var isHandlerOfValue: Bool {
    ["then", "map", "done", "get"].contains(calledName)
  }
}
