import SwiftSyntax

/// The code of a handler, ready to be placed after the code of the handler before it.
struct Fragment {
  /// The names of the parameters; `_` for ignored ones.
  let parameters: [String]
  /// The types that are written for the parameters.
  let types: [String?]
  let statements: CodeBlockItemListSyntax
  let capture: String?
  let result: String?
  let hasTry: Bool

  init?(_ closure: ClosureExprSyntax) {
    statements = closure.statements
    capture = closure.signature?.capture.map { $0.trimmedDescription }
    result = closure.signature?.returnClause?.type.trimmedDescription
    hasTry = closure.statements.contains { $0.description.contains("try") }
    switch closure.signature?.parameterClause {
    case .simpleInput(let list):
      parameters = list.map { $0.name.text }
      types = list.map { _ in nil }
    case .parameterClause(let clause):
      parameters = clause.parameters.map { ($0.secondName ?? $0.firstName).text }
      types = clause.parameters.map { $0.type?.trimmedDescription }
    case nil:
      let last = closure.statements.dollars.max() ?? -1
      parameters = last < 0 ? [] : (0...last).map { "$\($0)" }
      types = parameters.map { _ in nil }
    }
    if closure.signature?.attributes.isEmpty == false { return nil }
  }

  /// Whether the body can throw.
  var canThrow: Bool { hasTry || statements.contains { $0.description.contains("throw ") } }

  /// Whether the body returns at another place than its end.
  var returnsEarly: Bool {
    statements.enumerated().contains { index, item in
      let isLast = index == statements.count - 1
      if isLast, item.item.is(ReturnStmtSyntax.self) { return false }
      return item.containsReturn
    }
  }

  /// Whether the body returns anywhere.
  var returnsAnywhere: Bool { statements.contains { $0.containsReturn } }

  /// The statements before the result, and the result.
  var split: (body: [CodeBlockItemSyntax], result: ExprSyntax?) {
    guard let last = statements.last else { return ([], nil) }
    let body = Array(statements.dropLast())
    if let exit = last.item.as(ReturnStmtSyntax.self) { return (body, exit.expression) }
    if statements.count == 1, case .expr(let only) = last.item { return ([], only) }
    return (Array(statements), nil)
  }

  /// The names that the statements declare at their top level.
  var declared: Set<String> {
    var names: Set<String> = []
    for item in statements {
      if let variable = item.item.as(VariableDeclSyntax.self) {
        for binding in variable.bindings { names.formUnion(binding.pattern.identifiers) }
      } else if let function = item.item.as(FunctionDeclSyntax.self) {
        names.insert(function.name.text)
      } else if let guarded = item.item.as(GuardStmtSyntax.self) {
        for condition in guarded.conditions {
          if let binding = condition.condition.as(OptionalBindingConditionSyntax.self) {
            names.formUnion(binding.pattern.identifiers)
          } else if let match = condition.condition.as(MatchingPatternConditionSyntax.self) {
            names.formUnion(match.pattern.identifiers)
          }
        }
      }
    }
    return names
  }

  /// Whether the statements refer to a parameter without declaring another variable of its name.
  func onlyRefers(to name: String) -> Bool {
    statements.tokens(viewMode: .sourceAccurate).allSatisfy { token in
      guard token.tokenKind == .identifier(name), let parent = token.parent else { return true }
      return parent.is(DeclReferenceExprSyntax.self) || parent.is(LabeledExprSyntax.self)
    }
  }

  /// The names that the statements mention.
  var mentioned: Set<String> {
    var names: Set<String> = []
    for token in statements.tokens(viewMode: .sourceAccurate)
    where token.parent?.is(DeclReferenceExprSyntax.self) == true
      && token.previousToken(viewMode: .sourceAccurate)?.tokenKind != .period
    {
      switch token.tokenKind {
      case .identifier, .keyword(.self): names.insert(token.text)
      default: break
      }
    }
    return names
  }
}

extension ExprSyntax {
  /// Whether this is a literal for a single value.
  var isLiteral: Bool {
    self.is(BooleanLiteralExprSyntax.self) || self.is(IntegerLiteralExprSyntax.self)
      || self.is(NilLiteralExprSyntax.self) || self.is(StringLiteralExprSyntax.self)
      || self.as(TupleExprSyntax.self)?.elements.isEmpty == true
  }
}

extension SyntaxProtocol {
  /// Whether a `return` is part of this, outside nested functions.
  var containsReturn: Bool {
    if self.is(ReturnStmtSyntax.self) { return true }
    return children(viewMode: .sourceAccurate).contains { child in
      !child.is(ClosureExprSyntax.self) && !child.is(FunctionDeclSyntax.self)
        && child.containsReturn
    }
  }

  /// Whether a `return` with a value is part of this, outside nested functions.
  var returnsValue: Bool {
    if let exit = self.as(ReturnStmtSyntax.self) { return exit.expression != nil }
    return children(viewMode: .sourceAccurate).contains { child in
      !child.is(ClosureExprSyntax.self) && !child.is(FunctionDeclSyntax.self) && child.returnsValue
    }
  }

  /// Whether this is `value?.member…`, outside arguments and operators.
  var isOptionalChain: Bool {
    if self.is(OptionalChainingExprSyntax.self) { return true }
    if let call = self.as(FunctionCallExprSyntax.self) {
      return call.calledExpression.isOptionalChain
    }
    if let member = self.as(MemberAccessExprSyntax.self) {
      return member.base?.isOptionalChain ?? false
    }
    return self.as(SubscriptCallExprSyntax.self)?.calledExpression.isOptionalChain ?? false
  }

  /// The numbers of the shorthand arguments, outside nested closures.
  var dollars: [Int] {
    children(viewMode: .sourceAccurate).flatMap { child -> [Int] in
      if child.is(ClosureExprSyntax.self) { return [] }
      if let token = child.as(TokenSyntax.self), case .dollarIdentifier(let text) = token.tokenKind
      {
        return [Int(text.dropFirst()) ?? 0]
      }
      return child.dollars
    }
  }

  /// The names that patterns in this bind: with `guard let self`, also `self`.
  var identifiers: [String] {
    tokens(viewMode: .sourceAccurate).compactMap { token in
      guard token.parent?.is(IdentifierPatternSyntax.self) == true else { return nil }
      switch token.tokenKind {
      case .identifier, .keyword(.self): return token.text
      default: return nil
      }
    }
  }

  /// The number of spaces or tabs at the start of the line on which this starts.
  var indentationOfLine: Int {
    var token = firstToken(viewMode: .sourceAccurate)
    while let current = token {
      let text = current.leadingTrivia.description
      token = current.previousToken(viewMode: .sourceAccurate)
      if token == nil || text.contains("\n") {
        return text.reversed().prefix { $0 == " " || $0 == "\t" }.count
      }
    }
    return 0
  }

  /// The comments in this, apart from those before it and after it.
  var innerComments: [String] {
    let first = firstToken(viewMode: .sourceAccurate)
    let last = lastToken(viewMode: .sourceAccurate)
    return tokens(viewMode: .sourceAccurate).flatMap { token in
      (token == first ? [] : token.leadingTrivia.comments)
        + (token == last ? [] : token.trailingTrivia.comments)
    }
  }
}

extension Trivia {
  fileprivate var comments: [String] {
    compactMap { piece in
      switch piece {
      case .lineComment(let text), .blockComment(let text), .docLineComment(let text),
        .docBlockComment(let text):
        text
      default: nil
      }
    }
  }
}

/// Gives variables other names, and replaces what is returned.
final class Renamer: SyntaxRewriter {
  private let names: [String: String]
  private let exit: ((ExprSyntax?) -> String)?
  private var depth = 0

  init(_ names: [String: String], exit: ((ExprSyntax?) -> String)? = nil) {
    self.names = names
    self.exit = exit
    super.init(viewMode: .sourceAccurate)
  }

  override func visit(_ node: FunctionDeclSyntax) -> DeclSyntax {
    depth += 1
    defer { depth -= 1 }
    return super.visit(node)
  }

  override func visit(_ node: ReturnStmtSyntax) -> StmtSyntax {
    guard let exit, depth == 0 else { return super.visit(node) }
    // Only the text matters.
    let text = TokenSyntax.identifier(
      exit(node.expression.map { visit($0) }), leadingTrivia: node.leadingTrivia,
      trailingTrivia: node.trailingTrivia)
    return StmtSyntax(ExpressionStmtSyntax(expression: DeclReferenceExprSyntax(baseName: text)))
  }

  override func visit(_ node: ClosureExprSyntax) -> ExprSyntax {
    depth += 1
    defer { depth -= 1 }
    return super.visit(node)
  }

  override func visit(_ node: DeclReferenceExprSyntax) -> ExprSyntax {
    let name = node.baseName.text
    let isShorthand = name.hasPrefix("$")
    guard let other = names[name], !(isShorthand && depth > 0),
      node.baseName.previousToken(viewMode: .sourceAccurate)?.tokenKind != .period
    else { return ExprSyntax(node) }
    return ExprSyntax(
      node.with(
        \.baseName,
        .identifier(
          other, leadingTrivia: node.baseName.leadingTrivia,
          trailingTrivia: node.baseName.trailingTrivia)))
  }
}

/// The lines of a text without their common indentation, which is at most `limit`, and without empty
/// lines at its ends.
func unindentedLines(_ text: String, outdentedBy limit: Int = .max) -> [String] {
  var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  // The first line can follow a brace, without indentation.
  let startsLine = lines.first?.allSatisfy(\.isWhitespace) ?? false
  while let first = lines.first, first.allSatisfy(\.isWhitespace) { lines.removeFirst() }
  while let last = lines.last, last.allSatisfy(\.isWhitespace) { lines.removeLast() }
  // A statement can be followed by a space and a brace.
  if let last = lines.last {
    lines[lines.count - 1] = String(last.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
  func indentation(_ line: String) -> Int { line.prefix { $0 == " " || $0 == "\t" }.count }
  let filled = lines.filter { !$0.allSatisfy(\.isWhitespace) }
  let rest = filled.count > 1 && !startsLine ? Array(filled.dropFirst()) : filled
  let common = min(rest.map(indentation).min() ?? 0, limit)
  return lines.enumerated().map { index, line in
    let own = indentation(line)
    return String(line.dropFirst(index == 0 && own < common ? own : min(common, own)))
  }
}
