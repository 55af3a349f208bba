import SwiftSyntax

/// Finds places that matter for a conversion, outside chains: resolvers that are used more than
/// once, stored promises, settings, and threads that wait.
final class NoteCollector: SyntaxVisitor {
  private let file: SourceFile
  private var notes: [Report.Note] = []

  private init(_ file: SourceFile) {
    self.file = file
    super.init(viewMode: .sourceAccurate)
  }

  static func notes(of function: FunctionDeclaration, links: [Link]) -> [Report.Note] {
    guard Library.used(by: function.file.imports) != nil || !links.isEmpty,
      let statements = function.statements
    else { return [] }
    let collector = NoteCollector(function.file)
    collector.walk(statements)
    for link in links where link.role == .wait {
      collector.add("wait", "The thread waits for a promise.", link.place.offset)
    }
    for link in links where link.skipsCancellations && link.role == .recover {
      collector.add(
        "cancellation", "`recover` isn't called for cancellations, which pass through.",
        link.place.offset)
    }
    return collector.notes.sorted { $0.line < $1.line }
  }

  private func add(_ kind: String, _ text: String, _ offset: Int) {
    notes.append(Report.Note(line: file.position(at: offset).line, kind: kind, text: text))
  }

  private func add(_ kind: String, _ text: String, _ node: some SyntaxProtocol) {
    add(kind, text, node.positionAfterSkippingLeadingTrivia.utf8Offset)
  }

  override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
    let text = node.trimmedDescription
    if text == "conf.Q" || text.hasSuffix("PromiseKit.conf.Q") {
      add("conf.Q", "The default queues of all handlers are changed here.", node)
    }
    if text.hasSuffix("conf.catchPolicy") {
      add("conf.catchPolicy", "The default policy for cancellations is changed here.", node)
    }
    if text == "DispatchQueue.promises",
      node.parent?.is(InfixOperatorExprSyntax.self) == true
    {
      add("conf.Q", "The default queue of all handlers is changed here.", node)
    }
    return .visitChildren
  }

  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
    for binding in node.bindings {
      guard let value = binding.initializer?.value else { continue }
      let text = value.trimmedDescription
      if text.hasSuffix(".pending()") || text.hasSuffix(".withResolvers()") {
        let names = binding.pattern.identifiers
        noteResolver(names.last ?? "resolver", in: Syntax(node).parent ?? Syntax(node), node)
      } else if guessType(String(text.prefix { $0 != "(" && $0 != "{" })).isThenable {
        add("eager", "The promise is stored; its work starts here.", node)
      }
    }
    return .visitChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let callee = node.calledExpression.trimmedDescription
    if callee == "hang" || callee == "awaitPromise" {
      add("wait", "The thread waits for a promise.", node)
    }
    let base = callee.prefix { $0 != "<" }
    if ["Promise", "Guarantee"].contains(base), let closure = node.trailingClosure {
      let names: [String] =
        switch closure.signature?.parameterClause {
        case .simpleInput(let list): list.map { $0.name.text }
        case .parameterClause(let clause):
          clause.parameters.map { ($0.secondName ?? $0.firstName).text }
        case nil: ["$0"]
        }
      if names.count == 2 {
        noteResolver(names[0], names[1], in: Syntax(closure.statements), node)
      } else if let name = names.first {
        noteResolver(name, in: Syntax(closure.statements), node)
      }
    }
    return .visitChildren
  }

  /// Counts the uses of a resolver: continuations allow one on each path.
  private func noteResolver(
    _ names: String..., in code: Syntax, _ node: some SyntaxProtocol
  ) {
    let uses = code.tokens(viewMode: .sourceAccurate).filter { token in
      names.contains(token.text) && token.parent?.is(DeclReferenceExprSyntax.self) == true
    }
    guard uses.count > 1 else { return }
    add(
      "resolver",
      "The resolver is used \(uses.count) times. A continuation may be resumed only once; keep"
        + " the promise unless each path settles it once.", node)
  }

}
