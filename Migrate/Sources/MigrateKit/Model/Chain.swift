import SwiftSyntax

/// A promise and the operators that are applied to it, one after the other.
final class Chain {
  /// How the promise of the last operator is used.
  enum Usage: String {
    case returned
    case discarded
    case stored
    case argument
    case awaited
    case blocked
  }

  let function: FunctionDeclaration
  /// The operators, in the order in which they run.
  let links: [Link]
  let usage: Usage
  /// The expression that the first operator is applied to.
  let source: ExprSyntax
  /// The whole expression.
  let syntax: ExprSyntax
  /// Whether the chain is inside a handler of another one.
  let isNested: Bool

  init?(_ links: [Link], in function: FunctionDeclaration) {
    guard let last = links.last, let syntax = last.syntax, let first = links.first?.syntax,
      let base = first.calledExpression.as(MemberAccessExprSyntax.self)?.base
    else { return nil }
    self.function = function
    self.links = links
    self.syntax = ExprSyntax(syntax)
    source = base
    usage = Self.usage(of: last, syntax, in: function)
    isNested = Self.isNested(Syntax(syntax))
  }

  var place: Place {
    Place(file: function.file, offset: syntax.positionAfterSkippingLeadingTrivia.utf8Offset)
  }

  private static func usage(
    of last: Link, _ node: FunctionCallExprSyntax, in function: FunctionDeclaration
  ) -> Usage {
    if last.role == .wait { return .blocked }
    if last.role == .toAsync || isAwaited(Syntax(node)) { return .awaited }
    var parent = node.parent
    while let current = parent {
      if current.is(TryExprSyntax.self) || current.is(AwaitExprSyntax.self) {
        parent = current.parent
        continue
      }
      if current.is(ReturnStmtSyntax.self) { return .returned }
      if current.is(LabeledExprSyntax.self) { return .argument }
      if current.is(InitializerClauseSyntax.self) || current.is(InfixOperatorExprSyntax.self) {
        return .stored
      }
      if let item = current.as(CodeBlockItemSyntax.self) {
        return isResult(item, function) ? .returned : .discarded
      }
      if current.is(MemberAccessExprSyntax.self) { return .argument }
      return .stored
    }
    return .stored
  }

  /// Whether an expression is part of one under `await`, outside closures.
  private static func isAwaited(_ node: Syntax) -> Bool {
    var parent = node.parent
    while let current = parent, !current.is(CodeBlockItemSyntax.self) {
      if current.is(AwaitExprSyntax.self) { return true }
      if current.is(ClosureExprSyntax.self) { return false }
      parent = current.parent
    }
    return false
  }

  /// Whether a statement is the only one of a body that returns a value.
  private static func isResult(_ item: CodeBlockItemSyntax, _ function: FunctionDeclaration) -> Bool
  {
    guard let list = item.parent?.as(CodeBlockItemListSyntax.self), list.count == 1 else {
      return false
    }
    if let closure = list.parent?.as(ClosureExprSyntax.self) { return !closure.returnsNothing }
    return list.id == function.statements?.id && function.type.isThenable
  }

  private static func isNested(_ node: Syntax) -> Bool {
    var parent = node.parent
    while let current = parent {
      if let closure = current.as(ClosureExprSyntax.self),
        let name = closure.calledName, handlerNames.contains(name)
      {
        return true
      }
      if current.is(FunctionDeclSyntax.self) { return false }
      parent = current.parent
    }
    return false
  }

  private static let handlerNames: Set<String> = [
    "then", "map", "done", "get", "catch", "recover", "ensure", "finally", "always", "tap",
    "compactMap", "firstly", "thenMap",
  ]

  /// Whether a node is inside a function that is declared in another one.
  private static func isInside(_ node: Syntax, nestedIn function: FunctionDeclaration) -> Bool {
    var parent = node.parent
    while let current = parent, current.id != function.node.id {
      if current.is(FunctionDeclSyntax.self) { return true }
      parent = current.parent
    }
    return false
  }

  /// The chains of a function, without those of functions inside it.
  static func all(_ links: [Link], in function: FunctionDeclaration) -> [Chain] {
    var bases: Set<ObjectIdentifier> = []
    for link in links {
      if case .chain(let base) = link.base.kind { bases.insert(ObjectIdentifier(base)) }
    }
    return links.filter { !bases.contains(ObjectIdentifier($0)) && $0.syntax != nil }
      .compactMap { last in
        var chain = [last]
        while let first = chain.first, case .chain(let base) = first.base.kind, base.syntax != nil {
          chain.insert(base, at: 0)
        }
        guard let syntax = last.syntax, !isInside(Syntax(syntax), nestedIn: function) else {
          return nil
        }
        return Chain(chain, in: function)
      }
  }
}

extension ClosureExprSyntax {
  /// Whether the closure gets a resolver or a continuation, or is a block for a queue.
  fileprivate var returnsNothing: Bool {
    guard let name = calledName else { return false }
    switch name {
    case "Promise", "Guarantee":
      return signature?.parameterClause != nil || statements.description.contains("$0")
    case "async", "asyncAfter":
      // With `.promise`, the result is that of the block.
      guard let call = (parent?.as(FunctionCallExprSyntax.self)) else { return false }
      return !call.arguments.contains { $0.expression.trimmedDescription == ".promise" }
    default:
      return getsContinuation
    }
  }

  /// Whether the closure gets a continuation, whose methods return nothing.
  var getsContinuation: Bool {
    calledName.map { $0.hasPrefix("with") && $0.hasSuffix("Continuation") } ?? false
  }

  /// The name of the function to which the closure is passed.
  var calledName: String? {
    var parent = self.parent
    if parent?.is(LabeledExprSyntax.self) == true { parent = parent?.parent?.parent }
    return parent?.as(FunctionCallExprSyntax.self)?.functionName
  }
}

extension FunctionCallExprSyntax {
  /// The name of the function, without a receiver.
  var functionName: String? {
    (calledExpression.as(DeclReferenceExprSyntax.self)
      ?? calledExpression.as(MemberAccessExprSyntax.self)?.declName)?.baseName.text
  }
}
