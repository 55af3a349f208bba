import SwiftSyntax

/// Converts a chain to statements of an `async` function, if that can be done exactly.
///
/// The promise that the chain starts with stays where it stood, so that its work starts when it did.
/// The handlers become statements of a task on the main actor, where they ran.
final class ChainConverter {
  /// The statements of a chain.
  struct Code {
    /// The expression that the chain starts with.
    var source = ""
    var body: [String] = []
    /// The expression for the value.
    var value = "()"
    /// The cleanup that runs when the body ends, in the order of the source.
    var cleanup: [[String]] = []
    /// The `catch` clauses.
    var handlers: [String] = []
    var recovers = false
    /// Whether an error can be left after the `catch` clauses.
    var canFail = true
    /// What follows when errors have been handled.
    var afterward: [String] = []
    var convertedOperators = 0
  }

  let chain: Chain
  let library: Library
  var declared: Set<String> = []
  var captures: Set<String> = []
  var mentionsSelfWithoutCapture = false
  let inner: [SyntaxIdentifier: Chain]

  /// Whether handlers without `on:` run on the main queue.
  let isMainByDefault: Bool

  init(_ chain: Chain, inner: [SyntaxIdentifier: Chain], isMainByDefault: Bool) {
    self.chain = chain
    self.isMainByDefault = isMainByDefault
    self.inner = inner
    library = chain.links.first?.library ?? .promiseKit
  }

  /// The capture list that the task needs.
  var capture: String? { captures.first }

  func convert() throws(ConversionFailure) -> Code {
    guard library != .pledge else { throw ConversionFailure(.library) }
    var code = Code()
    code.source = try source(chain)
    code.value = "try await \(Self.isWord(code.source) ? code.source : "source").\(bridge)"
    try append(chain.links, to: &code, isOuter: true)
    if captures.count > 1 || !captures.isEmpty && mentionsSelfWithoutCapture {
      throw ConversionFailure(.capture)
    }
    return code
  }

  static func isWord(_ text: String) -> Bool {
    text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  var bridge: String { library == .google ? "get()" : "async()" }

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
    unindentedLines(node.trimmedDescription).joined(separator: "\n")
  }

  /// The expression for the first promise, without a `firstly` around it.
  func source(_ chain: Chain) throws(ConversionFailure) -> String {
    guard let call = chain.source.as(FunctionCallExprSyntax.self),
      call.calledExpression.trimmedDescription == "firstly",
      let closure = call.trailingClosure
        ?? call.arguments.last?.expression.as(
          ClosureExprSyntax.self),
      closure.statements.count == 1, closure.signature?.capture == nil,
      let only = Fragment(closure)?.split.result, !only.trimmedDescription.hasPrefix("try")
    else { return Self.text(chain.source) }
    return Self.text(only)
  }
}

/// Why a chain isn't converted.
struct ConversionFailure: Error {
  let decision: Decision

  init(_ decision: Decision) { self.decision = decision }
}

extension SyntaxProtocol {
  /// Whether `#if` is part of this.
  fileprivate var containsConditionalCode: Bool {
    children(viewMode: .sourceAccurate).contains {
      $0.is(IfConfigDeclSyntax.self) || $0.is(PostfixIfConfigExprSyntax.self)
        || $0.containsConditionalCode
    }
  }
}
