import SwiftSyntax

/// What the two versions of a function call to try work again.
///
/// `async` code has no `retry`, so a conversion brings its own, under a name of its own.
struct Retries {
  /// The names of the functions.
  let names: Set<String>
  /// Whether the other version's function has the same name, so that the numbers mean the same.
  let hasSameName: Bool
  /// Whether it calls its condition with the same arguments, too.
  let hasSameCondition: Bool

  /// The arguments to compare: the work, and what means the same in both versions.
  func arguments(_ labels: [String?], _ values: [Value]) -> (labels: [String?], values: [Value]) {
    let kept = values.indices.filter { index in
      if index == values.count - 1 { return true }
      if case .closure = values[index] { return hasSameCondition }
      return hasSameName && labels[index] != "on"
    }
    return (kept.map { hasSameName ? labels[$0] : nil }, kept.map { values[$0] })
  }
}

extension FunctionDeclaration {
  /// Whether the function calls a closure again after it has failed.
  var triesAgain: Bool {
    guard let statements else { return false }
    let work = parameters.filter { $0.type.contains("->") }.map(\.name)
    let finder = RetryFinder(work)
    finder.walk(statements)
    return finder.isFound || callsItself && finder.catches
  }
}

extension [FunctionDeclaration] {
  /// Whether one of the functions asks its condition for the number of attempts left and the error, as
  /// the library does.
  var askAsLibrary: Bool {
    contains { function in
      function.parameters.contains {
        $0.type.filter { !$0.isWhitespace && $0 != "_" }.contains("(Int,Error)")
      }
    }
  }
}

/// Finds a loop that catches the errors of a closure.
private final class RetryFinder: SyntaxVisitor {
  private let work: [String]
  private var loops = 0
  private var attempts = 0
  private(set) var isFound = false
  private(set) var catches = false

  init(_ work: [String]) {
    self.work = work
    super.init(viewMode: .sourceAccurate)
  }

  override func visit(_ node: WhileStmtSyntax) -> SyntaxVisitorContinueKind { enterLoop() }
  override func visitPost(_ node: WhileStmtSyntax) { loops -= 1 }
  override func visit(_ node: RepeatStmtSyntax) -> SyntaxVisitorContinueKind { enterLoop() }
  override func visitPost(_ node: RepeatStmtSyntax) { loops -= 1 }
  override func visit(_ node: ForStmtSyntax) -> SyntaxVisitorContinueKind { enterLoop() }
  override func visitPost(_ node: ForStmtSyntax) { loops -= 1 }

  override func visit(_ node: DoStmtSyntax) -> SyntaxVisitorContinueKind {
    attempts += 1
    return .visitChildren
  }
  override func visitPost(_ node: DoStmtSyntax) { attempts -= 1 }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    if attempts > 0, work.contains(node.calledExpression.trimmedDescription) {
      catches = true
      if loops > 0 { isFound = true }
    }
    return .visitChildren
  }

  private func enterLoop() -> SyntaxVisitorContinueKind {
    loops += 1
    return .visitChildren
  }
}
