import SwiftSyntax

/// A mistake that only `async` code can contain: whether it's one doesn't depend on the other version.
struct Trap {
  let rule: Rule
  let message: String
  let place: Place

  /// The traps in a function.
  static func all(in function: FunctionDeclaration, _ declarations: Declarations) -> [Trap] {
    guard let statements = function.statements else { return [] }
    let finder = TrapFinder(function, declarations)
    finder.walk(statements)
    return finder.traps
  }
}

/// Looks at the code of a function.
private class FunctionVisitor: SyntaxVisitor {
  fileprivate let function: FunctionDeclaration
  fileprivate let declarations: Declarations

  init(_ function: FunctionDeclaration, _ declarations: Declarations) {
    self.function = function
    self.declarations = declarations
    super.init(viewMode: .sourceAccurate)
  }
}

private final class TrapFinder: FunctionVisitor {
  var traps: [Trap] = []

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    if let closure = node.trailingClosure, let name = node.functionName {
      if closure.getsContinuation { findLost(closure) }
      if name.hasPrefix("with"), name.hasSuffix("TaskGroup") { findUnendedWork(closure) }
      if name == "Task" {
        findCutPause(closure, of: node)
        findEndlessOwner(closure)
      }
    }
    findKept(node)
    return .visitChildren
  }

  private func add(_ rule: Rule, _ message: String, _ node: some SyntaxProtocol) {
    let place = Place(
      file: function.file, offset: node.positionAfterSkippingLeadingTrivia.utf8Offset)
    traps.append(Trap(rule: rule, message: message, place: place))
  }

  /// A continuation that nothing can resume, because its closure doesn't use it.
  private func findLost(_ closure: ClosureExprSyntax) {
    guard let parameter = closure.onlyParameter, !closure.statements.names(parameter) else {
      return
    }
    add(
      .neverResumed, "Nothing can resume the continuation: its closure doesn't use it.", closure)
  }

  /// A stored continuation that is still there after it has been resumed.
  private func findKept(_ call: FunctionCallExprSyntax) {
    guard let member = call.calledExpression.as(MemberAccessExprSyntax.self),
      member.declName.baseName.text == "resume",
      call.arguments.first.map({ ["returning", "throwing", "with"].contains($0.label?.text) })
        ?? true,
      let name = member.base?.storage,
      let type = declarations.properties(of: function.owner)[name], type.contains("Continuation<"),
      type.hasSuffix("?") || type.hasPrefix("["), !call.isUnder(name),
      let body = function.statements,
      !call.surroundings(in: body).contains(where: { $0.empties(name) })
    else { return }
    add(
      .resumedTwice, "`\(name)` still holds the continuation after it is resumed.", call)
  }

  /// A pause that a cancellation of the stored task ends, as if it were over.
  private func findCutPause(_ work: ClosureExprSyntax, of task: FunctionCallExprSyntax) {
    let statements = Array(work.statements)
    guard let name = task.parent?.as(InfixOperatorExprSyntax.self)?.leftOperand.storage,
      let pause = statements.firstIndex(where: { $0.isUncheckedPause(declarations.pauses) }),
      case let rest = statements.dropFirst(pause + 1), !rest.isEmpty,
      !rest.contains(where: \.asksForCancellation),
      function.file.syntax.tokens(viewMode: .sourceAccurate).contains(where: { $0.cancels(name) })
    else { return }
    add(
      .effectAdded,
      "If `\(name)` is cancelled, its pause ends at once, and the code after it runs.",
      statements[pause])
  }

  /// A loop that only a cancellation ends, in a task that keeps an object which it captures weakly.
  private func findEndlessOwner(_ work: ClosureExprSyntax) {
    guard work.signature?.capture?.trimmedDescription.contains("weak self") ?? false,
      let owner = work.statements.firstIndex(where: \.keepsSelf),
      let loop = work.statements[owner...].first(where: \.isEndless)
    else { return }
    add(
      .effectAdded,
      "The loop keeps `self`, which the closure captures weakly, until the task is cancelled.",
      loop)
  }

  /// A group that has the first result, and then waits for a task that a cancellation doesn't end.
  private func findUnendedWork(_ group: ClosureExprSyntax) {
    let children = group.statements.children
    guard children.count == 2, group.statements.names("next"), !group.statements.hasLoop,
      let timer = children.firstIndex(where: { $0.statements.names(anyOf: declarations.pauses) })
    else { return }
    let finder = UnendedWork(function, declarations)
    finder.walk(children[1 - timer].statements)
    guard let work = finder.work else { return }
    add(
      .neverResumed,
      "The time limit has no effect: the group waits for `\(work)`, which a cancellation doesn't end.",
      group)
  }
}

/// Work that a cancellation doesn't end: that of a task from elsewhere, or of a function that waits for
/// a continuation and has no handler for cancellations.
private final class UnendedWork: FunctionVisitor {
  private(set) var work: String?

  override func visit(_ node: AwaitExprSyntax) -> SyntaxVisitorContinueKind {
    if let member = node.expression.as(MemberAccessExprSyntax.self),
      ["value", "result"].contains(member.declName.baseName.text),
      let name = member.base?.storage,
      (function.parameters.first { $0.name == name }?.type ?? function.typeOfTask(name)
        ?? declarations.typeName(ofProperty: name, in: function.owner))?.hasPrefix("Task<") ?? false
    {
      work = node.expression.trimmedDescription
    }
    if let call = node.expression.as(FunctionCallExprSyntax.self), let name = call.functionName {
      let bodies = declarations.byName[name, default: []].compactMap(\.statements)
      if !bodies.isEmpty, bodies.allSatisfy({ $0.waitsForContinuation }) {
        work = call.trimmedDescription
      }
    }
    return .visitChildren
  }
}

extension FunctionDeclaration {
  /// `Task<…>` if the function declares a constant with a new task under this name.
  fileprivate func typeOfTask(_ name: String) -> String? {
    let bindings = statements?.compactMap { $0.item.as(VariableDeclSyntax.self)?.bindings.first }
    let value = bindings?.first { $0.pattern.trimmedDescription == name }?.initializer?.value
    let isTask =
      value?.as(FunctionCallExprSyntax.self)?.firstToken(viewMode: .sourceAccurate)?.text == "Task"
    return isTask ? "Task<>" : nil
  }
}

extension CodeBlockItemListSyntax {
  fileprivate func names(_ name: String) -> Bool { names(anyOf: [name]) }

  fileprivate func names(anyOf names: Set<String>) -> Bool {
    tokens(viewMode: .sourceAccurate).contains { names.contains($0.text) }
  }

  var hasLoop: Bool {
    tokens(viewMode: .sourceAccurate).contains {
      [.keyword(.for), .keyword(.while), .keyword(.repeat)].contains($0.tokenKind)
    }
  }

  /// Whether the code ends in a continuation that is only resumed by what it waits for.
  fileprivate var waitsForContinuation: Bool {
    let names = tokens(viewMode: .sourceAccurate).map(\.text)
    return names.contains { $0.hasPrefix("with") && $0.hasSuffix("Continuation") }
      && !names.contains("withTaskCancellationHandler")
  }

  /// The closures that are added to a group.
  fileprivate var children: [ClosureExprSyntax] {
    compactMap { item in
      guard let call = item.item.as(FunctionCallExprSyntax.self),
        call.functionName?.hasPrefix("addTask") ?? false
      else { return nil }
      return call.trailingClosure
    }
  }

  /// Whether the code sets a property, or removes something from it.
  fileprivate func empties(_ name: String) -> Bool {
    tokens(viewMode: .sourceAccurate).contains { token in
      guard token.text == name else { return false }
      var next = token.nextToken(viewMode: .sourceAccurate)
      var depth = 0
      while let token = next, depth > 0 || token.text == "[" {
        if token.text == "[" { depth += 1 } else if token.text == "]" { depth -= 1 }
        next = token.nextToken(viewMode: .sourceAccurate)
      }
      if ["?", "!"].contains(next?.text) { next = next?.nextToken(viewMode: .sourceAccurate) }
      let value = next?.nextToken(viewMode: .sourceAccurate)?.text
      return next?.text == "=" || token.previousToken(viewMode: .sourceAccurate)?.text == "&"
        || next?.text == "."
          && ["remove", "pop"].contains { value?.hasPrefix($0) ?? false }
    }
  }
}

extension CodeBlockItemSyntax {
  private var words: [String] { tokens(viewMode: .sourceAccurate).map(\.text) }

  /// Whether this is `try? await Task.sleep(…)`, or the same with a function for it.
  fileprivate func isUncheckedPause(_ pauses: Set<String>) -> Bool {
    var code = item.as(ExprSyntax.self)
    if let assignment = code?.as(InfixOperatorExprSyntax.self) { code = assignment.rightOperand }
    return code?.as(TryExprSyntax.self)?.questionOrExclamationMark?.text == "?"
      && words.contains(where: pauses.contains)
  }

  fileprivate var asksForCancellation: Bool {
    words.contains { ["isCancelled", "checkCancellation"].contains($0) }
  }

  /// Whether this is `guard let self`, with another condition or without.
  fileprivate var keepsSelf: Bool {
    item.as(GuardStmtSyntax.self)?.conditions.contains {
      $0.condition.as(OptionalBindingConditionSyntax.self)?.pattern.trimmedDescription == "self"
    } ?? false
  }

  /// Whether this is a loop that waits, and that only a cancellation ends.
  fileprivate var isEndless: Bool {
    guard let loop = item.as(WhileStmtSyntax.self), words.contains("await"),
      !loop.body.statements.contains(where: { $0.words.contains("break") })
    else { return false }
    return ["true", "!Task.isCancelled"].contains(loop.conditions.trimmedDescription)
  }
}

extension TokenSyntax {
  /// Whether this is a variable of which the code calls `cancel()`.
  fileprivate func cancels(_ name: String) -> Bool {
    guard text == name, var next = nextToken(viewMode: .sourceAccurate) else { return false }
    if next.text == "?" { next = next.nextToken(viewMode: .sourceAccurate) ?? next }
    return next.text == "." && next.nextToken(viewMode: .sourceAccurate)?.text == "cancel"
  }
}

extension FunctionCallExprSyntax {
  /// Whether a closure around the call has a parameter with a name.
  fileprivate func isUnder(_ name: String) -> Bool {
    sequence(first: Syntax(self), next: \.parent).contains {
      $0.as(ClosureExprSyntax.self)?.onlyParameter == name
    }
  }

  /// The code of the closure around the call, or of the function, and the `defer` statements around it.
  fileprivate func surroundings(in body: CodeBlockItemListSyntax) -> [CodeBlockItemListSyntax] {
    let lists = sequence(first: Syntax(self), next: { $0.id == body.id ? nil : $0.parent })
      .compactMap { $0.as(CodeBlockItemListSyntax.self) }
    let own = lists.first { $0.parent?.is(ClosureExprSyntax.self) ?? false } ?? body
    return [own]
      + lists.flatMap { $0.compactMap { $0.item.as(DeferStmtSyntax.self)?.body.statements } }
  }
}

extension ExprSyntax {
  /// The variable that this is, or an element of: `acks` for `self.acks[id]?`.
  fileprivate var storage: String? {
    if let optional = self.as(OptionalChainingExprSyntax.self) {
      return optional.expression.storage
    }
    if let forced = self.as(ForceUnwrapExprSyntax.self) { return forced.expression.storage }
    if let element = self.as(SubscriptCallExprSyntax.self) {
      return element.calledExpression.storage
    }
    if let member = self.as(MemberAccessExprSyntax.self),
      member.base?.trimmedDescription == "self"
    {
      return member.declName.baseName.text
    }
    return self.as(DeclReferenceExprSyntax.self)?.baseName.text
  }
}

extension ClosureExprSyntax {
  /// The name of the only parameter that the closure names, or `$0`.
  fileprivate var onlyParameter: String? {
    switch signature?.parameterClause {
    case .simpleInput(let list)?: list.count == 1 ? list.first?.name.text : nil
    case .parameterClause(let clause)?:
      clause.parameters.count == 1
        ? clause.parameters.first.map { ($0.secondName ?? $0.firstName).text } : nil
    case nil: "$0"
    }
  }
}
