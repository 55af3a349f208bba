import SwiftSyntax

/// Members that code writes with their type, and without it where the context says the type.
struct WrittenMembers {
  /// The members without a type: `placeholder` for `.placeholder`, and `init(name:)` for `.init(name:)`.
  var implied: Set<String> = []
  /// The types that members are written with; a call of a type is one of its initializer.
  var typed: [String: Set<String>] = [:]
  /// The names of functions and values that the code uses.
  var names: Set<String> = []
  /// The names of members of values.
  var used: Set<String> = []
  /// The names of variables that the code sets.
  var assigned: Set<String> = []
  /// All names, numbers, and words in texts.
  var words: Set<Substring> = []
  /// How often words are in the file of the function, outside the functions that are described.
  var elsewhere: [Substring: Int] = [:]
  /// How often the code uses `??`.
  var fallbacks = 0
  /// Whether a `catch` without a pattern ends an error.
  var catchesAll = false
  /// Whether a function calls itself, and whether one has a loop.
  var callsItself = false
  var hasLoop = false

  static func += (first: inout WrittenMembers, second: WrittenMembers) {
    first.implied.formUnion(second.implied)
    first.typed.merge(second.typed) { $0.union($1) }
    first.names.formUnion(second.names)
    first.used.formUnion(second.used)
    first.assigned.formUnion(second.assigned)
    first.words.formUnion(second.words)
    first.fallbacks += second.fallbacks
    first.catchesAll = first.catchesAll || second.catchesAll
  }

  /// Whether a word is more often in the rest of the file than in that of the other version.
  func gains(_ word: Substring, over other: WrittenMembers) -> Bool {
    elsewhere[word, default: 0] > other.elsewhere[word, default: 0]
  }

  /// Adds the words of code, and the variables that it sets.
  mutating func add(_ tokens: TokenSequence) {
    /// The names after which a token would be an assignment to the last one.
    var target: (name: String, isDeclared: Bool)?
    var depth = 0
    var wasDeclaring = false
    for token in tokens {
      for word in token.text.split(whereSeparator: Words.separates) { words.insert(word) }
      switch token.tokenKind {
      case .leftSquare: depth += 1
      case .rightSquare: depth -= 1
      case .identifier(let name) where depth == 0: target = (name, wasDeclaring)
      case .equal, .binaryOperator("+="), .binaryOperator("-="), .binaryOperator("*="):
        if let target, !target.isDeclared { assigned.insert(target.name) }
      default: break
      }
      wasDeclaring = [.keyword(.let), .keyword(.var)].contains(token.tokenKind)
    }
  }

  /// The types of members that this code implies and that `other` writes, if it's always the same.
  func impliedTypes(from other: WrittenMembers) -> [String: String] {
    var result: [String: String] = [:]
    for member in implied.subtracting(other.implied) {
      guard let types = other.typed[member], types.count == 1, let type = types.first,
        typed[member, default: []].subtracting(types).isEmpty,
        member != Self.initializer([]) || typed[member] == nil
      else { continue }
      result[member] = type
    }
    return result
  }

  /// The name of an initializer with its labels.
  static func initializer(_ labels: [String?]) -> String {
    "init(" + labels.map { ($0 ?? "_") + ":" }.joined() + ")"
  }
}

extension Program {
  /// The members that a function writes, and those of the functions that its calls are replaced by.
  func writtenMembers(of function: FunctionDeclaration, _ inlined: Inlined) -> WrittenMembers {
    var result = WrittenMembers()
    var open = [function]
    var seen: Set<ObjectIdentifier> = []
    result.elsewhere = words(of: function.file)
    while let next = open.popLast() {
      guard let statements = next.statements, seen.insert(ObjectIdentifier(next)).inserted else {
        continue
      }
      let collector = MemberCollector(viewMode: .sourceAccurate)
      collector.walk(statements)
      result += collector.members
      if next.callsItself || next.calls(function) { result.callsItself = true }
      if next.hasLoop { result.hasLoop = true }
      result.add(statements.tokens(viewMode: .sourceAccurate))
      // A function inside it is a part of it.
      let isInside =
        next !== function && next.file === function.file
        && function.node.position <= next.node.position
        && next.node.endPosition <= function.node.endPosition
      if next.file === function.file, !isInside {
        result.elsewhere.merge(Words.counts(Syntax(statements))) { $0 - $1 }
      }
      open += collector.members.names.compactMap { name in
        (inlined["\(next.owner).\(name)"] ?? inlined[name] ?? inlined[".\(name)"])?.0
      }
    }
    return result
  }
}

private final class MemberCollector: SyntaxVisitor {
  var members = WrittenMembers()

  override func visit(_ node: BinaryOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    if node.operator.text == "??" { members.fallbacks += 1 }
    return .skipChildren
  }

  override func visit(_ node: CatchClauseSyntax) -> SyntaxVisitorContinueKind {
    if node.catchItems.isEmpty, node.body.statements.last?.item.is(ThrowStmtSyntax.self) != true {
      members.catchesAll = true
    }
    return .visitChildren
  }

  // Patterns are compared without types.
  override func visit(_ node: ExpressionPatternSyntax) -> SyntaxVisitorContinueKind {
    .skipChildren
  }

  override func visit(_ node: DeclReferenceExprSyntax) -> SyntaxVisitorContinueKind {
    members.names.insert(node.baseName.text)
    return .visitChildren
  }

  override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
    let name = node.declName.baseName.text
    let call = node.parent?.as(FunctionCallExprSyntax.self)
    let member = name == "init" ? call.map(initializer) ?? name : name
    if node.base != nil { members.used.insert(name) }
    if node.base == nil {
      members.implied.insert(member)
    } else if let type = node.base?.writtenType {
      members.typed[member, default: []].insert(type)
    }
    return .visitChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    if let type = node.calledExpression.writtenType {
      members.typed[initializer(of: node), default: []].insert(type)
    }
    return .visitChildren
  }

  private func initializer(of call: FunctionCallExprSyntax) -> String {
    WrittenMembers.initializer(call.arguments.map { $0.label?.text })
  }
}

extension ExprSyntax {
  /// The name, if this is the name of a type.
  fileprivate var writtenType: String? {
    let name =
      self.as(DeclReferenceExprSyntax.self) ?? self.as(MemberAccessExprSyntax.self)?.declName
    guard let name, name.baseName.text.first?.isUppercase == true else { return nil }
    return trimmedDescription
  }
}
