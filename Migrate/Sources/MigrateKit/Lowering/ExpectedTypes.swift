import SwiftSyntax

/// What the place of an expression says about its type.
extension Lowering {
  /// Notes the type of the only expression of a body.
  func expectResult(of statements: CodeBlockItemListSyntax) {
    guard statements.count == 1 else { return }
    switch statements.first?.item {
    case .expr(let expression): expect(resultType, of: expression)
    case .stmt(let statement):
      expect(resultType, of: statement.as(ExpressionStmtSyntax.self)?.expression)
    default: break
    }
  }

  /// Notes the type of an expression, and of what it consists of.
  func expect(_ type: String?, of node: ExprSyntax?) {
    // The value of an expression that is where `Void` is expected can be unused.
    guard let type, let node, !["Void", "()"].contains(type) else { return }
    expectedTypes[node.id] = type
    if let attempt = node.as(TryExprSyntax.self) { expect(type, of: attempt.expression) }
    if let awaited = node.as(AwaitExprSyntax.self) { expect(type, of: awaited.expression) }
    if let ternary = node.as(TernaryExprSyntax.self) {
      expect(type, of: ternary.thenExpression)
      expect(type, of: ternary.elseExpression)
    }
    // `.value(value)` of a promise.
    if let call = node.as(FunctionCallExprSyntax.self), call.arguments.count == 1,
      call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "value"
    {
      expect(promised(type), of: call.arguments.first?.expression)
    }
  }

  /// The type of the value of a promise; nil for other types.
  func promised(_ type: String) -> String? {
    guard let start = type.firstIndex(of: "<"), type.hasSuffix(">"),
      declarations.type(named: type).isThenable
    else { return nil }
    return String(type[type.index(after: start)...].dropLast())
  }

  /// Whether an expression must be a promise, because it's returned as one.
  func isExpectedPromise(_ node: Syntax) -> Bool {
    expectedTypes[node.id].map { declarations.type(named: $0).isThenable } ?? false
  }
}
