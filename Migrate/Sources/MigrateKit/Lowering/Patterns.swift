import SwiftSyntax

/// Patterns: what they bind, and how the check names them.
extension Lowering {
  func declare(_ node: PatternSyntax, type: TypeGuess, value: Expr? = nil) -> Pattern {
    if let tuple = node.as(TuplePatternSyntax.self), tuple.elements.count == 2,
      let value, isPending(value)
    {
      let parts = tuple.elements.map { $0 }
      _ = declare(parts[0].pattern, type: .promise)
      _ = declare(parts[1].pattern, type: .resolver)
    } else if let tuple = node.as(TuplePatternSyntax.self), type.isThenable {
      // The first of a promise and what cancels it.
      for name in boundNames(Syntax(node)) { scope.declare(name, .unknown) }
      return tuple.elements.first.map { declare($0.pattern, type: type) } ?? .ignored
    } else {
      let part = node.is(TuplePatternSyntax.self) ? TypeGuess.unknown : type
      for name in boundNames(Syntax(node)) { scope.declare(name, part) }
    }
    return shape(node)
  }

  func pattern(_ node: PatternSyntax) -> Pattern {
    for name in boundNames(Syntax(node)) { scope.declare(name, .unknown) }
    return shape(node)
  }

  func shape(_ node: PatternSyntax) -> Pattern {
    if let name = node.as(IdentifierPatternSyntax.self) { return .name(name.identifier.text) }
    if let tuple = node.as(TuplePatternSyntax.self) {
      return .tuple(tuple.elements.map { shape($0.pattern) })
    }
    if let binding = node.as(ValueBindingPatternSyntax.self) { return shape(binding.pattern) }
    if let tuple = node.as(ExpressionPatternSyntax.self)?.expression.as(TupleExprSyntax.self) {
      return .tuple(
        tuple.elements.map {
          $0.expression.as(PatternExprSyntax.self).map { shape($0.pattern) }
            ?? .name($0.expression.trimmedDescription)
        })
    }
    return .ignored
  }

  /// The pattern inside `let name?` or `.some(let name)`; nil for patterns that aren't about `nil`.
  func unwrapped(_ node: PatternSyntax) -> Pattern? {
    if let binding = node.as(ValueBindingPatternSyntax.self) { return unwrapped(binding.pattern) }
    guard let expression = node.as(ExpressionPatternSyntax.self)?.expression else { return nil }
    if let chained = expression.as(OptionalChainingExprSyntax.self) {
      return inner(chained.expression)
    }
    guard let call = expression.as(FunctionCallExprSyntax.self), call.arguments.count == 1,
      let only = call.arguments.first,
      ["some", "Optional.some"].contains(
        call.calledExpression.trimmedDescription.drop { $0 == "." })
    else { return nil }
    return inner(only.expression)
  }

  private func inner(_ node: ExprSyntax) -> Pattern? {
    node.as(PatternExprSyntax.self).map { shape($0.pattern) }
      ?? (node.is(DiscardAssignmentExprSyntax.self) ? .ignored : nil)
  }

  func isPending(_ value: Expr) -> Bool {
    guard case .call(let callee, _) = value.kind, case .member(_, let name) = callee.kind else {
      return false
    }
    return ["pending", "withResolvers"].contains(name)
  }

  func boundNames(_ node: Syntax) -> [String] {
    var names: [String] = []
    if let identifier = node.as(IdentifierPatternSyntax.self) {
      names.append(identifier.identifier.text)
    }
    for child in node.children(viewMode: .sourceAccurate) { names += boundNames(child) }
    return names
  }

  /// The names that a case with several values binds, one for each value: `_` for one without a name.
  func caseNames(_ node: PatternSyntax) -> [String] {
    guard let values = caseCall(node)?.arguments, values.count > 1 else {
      return boundNames(Syntax(node))
    }
    let names = values.map { value -> [String] in
      let names = boundNames(Syntax(value.expression))
      if !names.isEmpty { return names }
      // Under `let` before the case, a name is an expression.
      let name = value.expression.as(DeclReferenceExprSyntax.self)?.baseName.text
      return [node.is(ValueBindingPatternSyntax.self) ? name ?? "_" : "_"]
    }
    return names.allSatisfy { $0.count == 1 } ? names.flatMap(\.self) : boundNames(Syntax(node))
  }

  private func caseCall(_ node: PatternSyntax) -> FunctionCallExprSyntax? {
    if let binding = node.as(ValueBindingPatternSyntax.self) { return caseCall(binding.pattern) }
    return node.as(ExpressionPatternSyntax.self)?.expression.as(FunctionCallExprSyntax.self)
  }

  func canonicalPattern(_ node: PatternSyntax) -> String {
    if unwrapped(node) != nil { return "?" }
    if let call = caseCall(node), call.arguments.contains(where: { $0.expression.isConstant }) {
      let values = call.arguments.map {
        $0.expression.isConstant ? $0.expression.trimmedDescription : "_"
      }
      return canonicalPattern(call.calledExpression.trimmedDescription)
        + "(\(values.joined(separator: ",")))"
    }
    return canonicalPattern(node.trimmedDescription)
  }

  /// A pattern without the names that it binds, so that renaming them changes nothing.
  func canonicalPattern(_ text: String) -> String {
    if text.hasPrefix("\"") { return text }
    let words = text.split(whereSeparator: \.isWhitespace)
    if words.count == 2, words[0] == "is" { return "is \(words[1])" }
    if words.count == 4, words[0] == "let", words[2] == "as" { return "is \(words[3])" }
    var result = text.filter { !$0.isWhitespace }
    for prefix in ["let", "var"] where result.hasPrefix(prefix) && text.hasPrefix(prefix + " ") {
      result.removeFirst(3)
    }
    if let dot = result.firstIndex(of: "."), !result.hasPrefix(".") {
      // `Failure.offline` and `.offline` are the same case.
      let head = result[..<dot]
      if head.first?.isUppercase == true { result.removeSubrange(..<dot) }
    }
    // PromiseKit's results have other names than those of the standard library.
    for (name, standard) in [(".fulfilled", ".success"), (".rejected", ".failure")]
    where result == name || result.hasPrefix(name + "(") {
      result = standard + result.dropFirst(name.count)
    }
    if let paren = result.firstIndex(of: "("), result.hasPrefix(".") {
      let inner = text.drop { $0 != "(" }.dropFirst().dropLast()
        .split(whereSeparator: \.isWhitespace)
      if inner.count == 4, inner[0] == "let", inner[2] == "as" {
        return result[..<paren] + "(is \(inner[3]))"
      }
      if text.contains("let ") || text.contains("_") || text.contains("var ") {
        result = String(result[..<paren])
      }
    }
    return result
  }
}

extension ExprSyntax {
  /// Whether a pattern compares a value with this, and binds nothing.
  fileprivate var isConstant: Bool {
    [.integerLiteralExpr, .floatLiteralExpr, .booleanLiteralExpr, .stringLiteralExpr].contains(kind)
      || self.as(MemberAccessExprSyntax.self)?.base == nil && self.is(MemberAccessExprSyntax.self)
      || self.as(PrefixOperatorExprSyntax.self)?.expression.isConstant ?? false
  }
}
