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

  /// A pattern without the names that it binds, so that renaming them changes nothing.
  func canonicalPattern(_ text: String) -> String {
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
    if let paren = result.firstIndex(of: "("), result.hasPrefix(".") {
      if text.contains("let ") || text.contains("_") || text.contains("var ") {
        result = String(result[..<paren])
      }
    }
    return result
  }
}
