import SwiftSyntax

/// Converts a chain to statements of an `async` function, if that can be done exactly.
///
/// The promise that the chain starts with stays where it stood, so that its work starts when it did.
/// The handlers become statements of a task on the main actor or on a queue, where they ran.
final class ChainConverter {
  /// The statements of a chain.
  struct Code {
    /// The expression that the chain starts with.
    var source = ""
    /// The constant for that expression, if one is needed, perhaps with its type.
    var name: String?
    var declaration: String?
    var body: [String] = []
    /// The expression for the value.
    var value = "()"
    /// The cleanup that runs when the body ends, in the order of the source.
    var cleanup: [[String]] = []
    /// The `catch` clauses.
    var handlers: [String] = []
    var recovers = false
    /// Whether each way through the last handler fulfills the promise.
    var fulfillsEverywhere = false
    /// Whether an error can be left after the `catch` clauses, if there are any.
    var canFail = true
    /// What follows when errors have been handled.
    var afterward: [String] = []
    var convertedOperators = 0
  }

  /// Stands for the assignment of a chain's result, whose variable gets its name later.
  static let assignment = "\u{1}"

  let chain: Chain
  let library: Library
  var declared: Set<String> = []
  var captures: Set<String> = []
  var mentionsSelfWithoutCapture = false
  let inner: [SyntaxIdentifier: Chain]
  /// Where the handlers run.
  private(set) var place = HandlerPlace.main

  let declarations: Declarations
  /// The names that the function uses, and those that its conversions have declared.
  let names: Names
  init(
    _ chain: Chain, inner: [SyntaxIdentifier: Chain], _ declarations: Declarations,
    _ names: Names
  ) {
    self.chain = chain
    self.names = names
    self.declarations = declarations
    self.inner = inner
    library = chain.links.first?.library ?? .promiseKit
  }

  /// The capture list that the task needs.
  var capture: String? { captures.first }

  func convert() throws(ConversionFailure) -> Code {
    guard library != .pledge else { throw ConversionFailure(.library) }
    place = try handlerPlace()
    var code = Code()
    code.source = try source(chain)
    if place == .main, isShared(code.source) { throw ConversionFailure(.stored) }
    if !Self.isWord(code.source) {
      let name = names.unused("source")
      code.name = name
      code.declaration = try needsType(chain.source) ? "\(name): \(sourceType())" : name
    }
    code.canFail = !isInfallible
    code.value = "\(code.canFail ? "try " : "")await \(code.name ?? code.source).\(bridge)"
    try append(chain.links, to: &code, isOuter: true)
    if captures.count > 1 || !captures.isEmpty && mentionsSelfWithoutCapture {
      throw ConversionFailure(.capture)
    }
    return code
  }

  /// Whether the chain starts with a guarantee whose value is only passed to closures that can't throw.
  private var isInfallible: Bool {
    chain.usage == .discarded && chain.links.first?.baseIsGuarantee == true
      && chain.links.allSatisfy { link in
        [.map, .done, .get].contains(link.role)
          && closure(link).flatMap(Fragment.init)?.canThrow == false
      }
  }

  /// Whether other chains start with the promise, too: tasks wouldn't keep the order of its handlers.
  private func isShared(_ source: String) -> Bool {
    if source.contains("(") { return false }
    let name = HandlerPlace.plain(source)
    let root = String(name.prefix { $0 != "." && $0 != "[" })
    let owner = chain.function.owner
    let isProperty = declarations.properties(of: owner)[root] != nil
    return inner.values.contains { other in
      guard other !== chain,
        other.function === chain.function || isProperty && other.function.owner == owner,
        let start = try? self.source(other)
      else { return false }
      return HandlerPlace.plain(start) == name
    }
  }

  static func isWord(_ text: String) -> Bool {
    text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  /// What awaits a promise; on a queue, without a turn of the main queue before.
  var bridge: String {
    library == .google ? "get()" : place == .main ? "async()" : "async(on: nil)"
  }

  /// Code inside the arguments of a macro, and code with alternatives of `#if`, stays as it is.
  func checkSurroundings() throws(ConversionFailure) {
    var node: Syntax? = Syntax(chain.syntax)
    while let current = node {
      if let conditional = current.as(IfConfigDeclSyntax.self), conditional.clauses.count > 1 {
        throw ConversionFailure(.conditional)
      }
      if current.is(MacroExpansionExprSyntax.self) || current.is(MacroExpansionDeclSyntax.self) {
        throw ConversionFailure(.macro)
      }
      node = current.parent
    }
    if chain.syntax.containsConditionalCode { throw ConversionFailure(.conditional) }
  }

  private static func text(_ node: ExprSyntax) -> String {
    unindentedLines(node.trimmedDescription, outdentedBy: node.indentationOfLine)
      .joined(separator: "\n")
  }

  /// The expression for the first promise, without a `firstly` around it.
  func source(_ chain: Chain) throws(ConversionFailure) -> String {
    // Without a promise, nothing follows.
    if chain.source.isOptionalChain { throw ConversionFailure(.optional) }
    guard let call = chain.source.as(FunctionCallExprSyntax.self),
      call.calledExpression.trimmedDescription == "firstly",
      let closure = call.trailingClosure
        ?? call.arguments.last?.expression.as(
          ClosureExprSyntax.self),
      closure.statements.count == 1, closure.signature?.capture == nil,
      let only = Fragment(closure)?.split.result, !only.mentionsTry,
      // A second run would take a constant with a chain for a stored promise.
      inner[only.id] == nil
    else { return Self.text(chain.source) }
    return Self.text(only)
  }
}

/// The names that a function uses: a conversion declares others.
final class Names {
  private var used: Set<String>

  init(_ function: FunctionDeclaration) {
    used = Set(
      function.node.tokens(viewMode: .sourceAccurate).compactMap { token in
        if case .identifier(let text) = token.tokenKind { text } else { nil }
      })
  }

  /// Whether the function uses a name.
  func contains(_ name: String) -> Bool { used.contains(name) }

  /// A name that isn't used yet: `wish`, or `wish` with a number.
  func unused(_ wish: String) -> String {
    var name = wish
    var number = 2
    while !used.insert(name).inserted {
      name = wish + String(number)
      number += 1
    }
    return name
  }
}

/// Why a chain isn't converted.
struct ConversionFailure: Error {
  let decision: Decision
  /// The operator that needs the decision, if it's one.
  let name: String?

  init(_ decision: Decision, _ name: String? = nil) {
    self.decision = decision
    self.name = name
  }
}

extension SyntaxProtocol {
  /// Whether this can throw, apart from nested closures.
  fileprivate var mentionsTry: Bool {
    children(viewMode: .sourceAccurate).contains { child in
      if child.is(ClosureExprSyntax.self) { return false }
      return child.is(TryExprSyntax.self) || child.mentionsTry
    } || self.is(TryExprSyntax.self)
  }

  /// Whether `#if` is part of this.
  fileprivate var containsConditionalCode: Bool {
    children(viewMode: .sourceAccurate).contains {
      $0.is(IfConfigDeclSyntax.self) || $0.is(PostfixIfConfigExprSyntax.self)
        || $0.containsConditionalCode
    }
  }
}
