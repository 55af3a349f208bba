import Foundation
import SwiftSyntax

/// A function, initializer, or accessor that a tree declares.
final class FunctionDeclaration {
  let file: SourceFile
  let node: Syntax
  /// The type in which it is declared, or "".
  let owner: String
  let name: String
  let labels: [String]
  let returns: String
  /// What its result is; another name of a type can say so, too.
  var type: TypeGuess
  let isAsync: Bool
  let throwsErrors: Bool
  let isPrivate: Bool
  let attributes: [String]
  let statements: CodeBlockItemListSyntax?
  let parameters: [(name: String, type: String)]
  /// The positions of the parameters that a call can leave out.
  let optionalPositions: Set<Int>

  init(
    file: SourceFile, node: Syntax, owner: String, name: String, labels: [String],
    parameters: [(name: String, type: String)], optionalPositions: Set<Int> = [], returns: String,
    isAsync: Bool, throwsErrors: Bool, isPrivate: Bool, attributes: [String],
    statements: CodeBlockItemListSyntax?
  ) {
    self.file = file
    self.node = node
    self.owner = owner
    self.name = name
    self.labels = labels
    self.parameters = parameters
    self.optionalPositions = optionalPositions
    self.returns = returns
    self.type = guessResult(returns)
    self.isAsync = isAsync
    self.throwsErrors = throwsErrors
    self.isPrivate = isPrivate
    self.attributes = attributes
    self.statements = statements
  }

  var place: Place {
    Place(file: file, offset: node.positionAfterSkippingLeadingTrivia.utf8Offset)
  }

  /// Whether a name is that of a generic parameter of the function.
  func isGeneric(over name: String) -> Bool {
    node.as(FunctionDeclSyntax.self)?.genericParameterClause?.parameters
      .contains { $0.name.text == name } ?? false
  }

  /// The name with its labels, inside its type: `Feed.load(page:)`.
  var fullName: String {
    let own = name + "(" + labels.map { $0 + ":" }.joined() + ")"
    return owner.isEmpty ? own : owner + "." + own
  }

  /// The name inside its type: `Feed.load`.
  var qualifiedName: String { "\(owner).\(name)" }

  /// Whether a call of the function has no value.
  var isVoid: Bool { ["", "Void", "()"].contains(returns.filter { !$0.isWhitespace }) }

  /// The labels of the tuple that the function, or its promise, returns.
  private(set) lazy var resultLabels: [String] = {
    var text = returns.filter { !$0.isWhitespace }[...]
    if let open = text.firstIndex(of: "<"), text.hasSuffix(")>") {
      text = text[text.index(after: open)...].dropLast()
    }
    return tupleParts(text).map { String($0.prefix { $0 != ":" }) }
  }()

  /// How the function limits the time of work; nil for other functions.
  private(set) lazy var timeLimit = TimeLimit(self)

  /// The type of the result, or of that of the promise that the function returns.
  var plainResult: String {
    let text = returns.filter { !$0.isWhitespace }
    for name in ["Promise<", "Guarantee<"] where text.hasPrefix(name) && text.hasSuffix(">") {
      let inner = String(text.dropFirst(name.count).dropLast())
      return ["Void", "()"].contains(inner) ? "" : inner
    }
    return ["Void", "()"].contains(text) ? "" : text
  }

  /// Whether the result, unless it's nil, is a promise or a task.
  var returnsAsynchronously: Bool {
    type.isThenable || returns.hasPrefix("Task<")
      || returns.hasSuffix("?") && guessType(String(returns.dropLast())).isThenable
  }

  /// Whether a parameter is asynchronous work, and no promise of its result.
  var takesWork: Bool {
    parameters.contains { $0.type.filter { !$0.isWhitespace }.contains("()async") }
      && !parameters.contains { guessType($0.type).isThenable }
  }

  /// Whether the result arrives in parts.
  var returnsStream: Bool {
    ["AsyncStream", "AsyncThrowingStream", "AsyncSequence"].contains(where: returns.contains)
  }

  /// The value of a parameter that a call leaves out.
  func defaultValue(at index: Int) -> ExprSyntax? {
    let list = node.as(FunctionDeclSyntax.self)?.signature.parameterClause.parameters
    return list?.dropFirst(index).first?.defaultValue?.value
  }

  /// Whether a call can leave out the parameters at these positions.
  func canLeaveOut(_ positions: Range<Int>) -> Bool {
    positions.allSatisfy(optionalPositions.contains)
  }

  /// Whether a parameter can be a closure: a collection or a basic type can't.
  func takesClosure(at index: Int) -> Bool {
    guard parameters.indices.contains(index) else { return true }
    let type = parameters[index].type
    return type.contains("->") || type.first != "[" && !Self.basicTypes.contains(type)
  }

  private static let basicTypes: Set<String> = [
    "Bool", "Int", "Double", "Float", "String", "Data", "Date", "URL", "URLRequest", "UUID",
    "TimeInterval", "CGFloat",
  ]

  var returnsNothing: Bool {
    let plain = returns.filter { !$0.isWhitespace }
    return plain.isEmpty || ["Void", "()"].contains(plain)
      || plain.hasSuffix("<Void>") || plain.hasSuffix("<()>")
  }
}

/// The parts of a written tuple type, without spaces, with their labels; none for other types.
private func tupleParts(_ text: Substring) -> [Substring] {
  guard text.hasPrefix("("), text.hasSuffix(")") else { return [] }
  var depth = 0
  return text.dropFirst().dropLast().split { character in
    if "([<".contains(character) { depth += 1 } else if ")]>".contains(character) { depth -= 1 }
    return depth == 0 && character == ","
  }
}

/// Returns what the written type of a function's result says about promises.
///
/// A promise next to something else, such as what cancels it, is the result.
func guessResult(
  _ written: String, _ guess: (String) -> TypeGuess = guessType
) -> TypeGuess {
  let types = tupleParts(written.filter { !$0.isWhitespace }[...]).map { part in
    guess(String(part.drop { $0 != ":" }.dropFirst()))
  }
  let promises = types.filter(\.isThenable)
  return promises.count == 1 && !types.contains(.resolver) ? promises[0] : guess(written)
}

/// Returns what a written type says about promises.
func guessType(_ written: String) -> TypeGuess {
  var text = written.filter { !$0.isWhitespace }[...]
  for module in Library.allCases where text.hasPrefix(module.rawValue + ".") {
    text = text.dropFirst(module.rawValue.count + 1)
  }
  for prefix in ["any", "some"] where text.hasPrefix(prefix + "Thenable") {
    text = text.dropFirst(prefix.count)
  }
  // Usually, it's unwrapped before an operator is applied to it.
  if text.hasSuffix("?") {
    return guessType(String(text.dropLast())).isThenable ? .unknown : .other
  }
  // A generic parameter can be a promise.
  if text.count <= 2, text.first?.isUppercase == true { return .unknown }
  if ["Promise", "Thenable"].contains(text.prefix { $0 != "<" }) { return .promise }
  if text.hasPrefix("Guarantee<") || text == "Guarantee" { return .guarantee }
  if text.hasPrefix("Resolver<") || text.hasPrefix("CheckedContinuation<")
    || text.hasPrefix("UnsafeContinuation<")
  {
    return .resolver
  }
  return text.isEmpty ? .unknown : .other
}
