import Foundation
import SwiftSyntax

/// Lowers the syntax of a file to bodies.
final class Lowering {
  let file: SourceFile
  let declarations: Declarations
  let library: Library?
  let owner: String
  let scope = Scope()
  var decisions = Decisions()
  /// The operators that were found, inner ones first.
  var links: [Link] = []
  /// The written result type of the code that is being lowered, or "Promise"; nil if it isn't known.
  var resultType: String?
  /// What the next closure has to return, as far as what it's passed to or bound to says so.
  var nextClosureResult: String?
  /// Whether the parameters of the next closure are values of promises, and not promises.
  var nextParametersAreValues = false
  /// The types of local names that are declared without a value.
  private var unsetTypes: [String: String] = [:]
  /// The types of expressions that are returned, or bound to a name with a type.
  var expectedTypes: [SyntaxIdentifier: String] = [:]

  init(_ file: SourceFile, _ declarations: Declarations, owner: String) {
    self.file = file
    self.declarations = declarations
    self.owner = owner
    library = declarations.library(of: file)
  }

  func place(_ node: some SyntaxProtocol) -> Place {
    Place(file: file, offset: node.positionAfterSkippingLeadingTrivia.utf8Offset)
  }

  /// The body of a declared function; nil if it has none.
  func body(of function: FunctionDeclaration) -> Body? {
    guard let statements = function.statements else { return nil }
    scope.push()
    defer { scope.pop() }
    for parameter in function.parameters {
      scope.declare(parameter: parameter.name, type: parameter.type, declarations)
    }
    let isExpression = !function.returns.isEmpty && isSingleExpression(statements)
    resultType = function.returns.isEmpty ? nil : function.returns
    expectResult(of: statements)
    return Body(
      parameters: function.parameters.map(\.name), steps: steps(statements),
      isExpression: isExpression, isMainActor: false,
      resultIsVoid: function.returnsNothing, place: function.place)
  }

  func steps(_ statements: CodeBlockItemListSyntax) -> [Step] {
    scope.push()
    defer { scope.pop() }
    return statements.flatMap(steps)
  }

  private func isSingleExpression(_ statements: CodeBlockItemListSyntax) -> Bool {
    guard statements.count == 1, let item = statements.first?.item else { return false }
    return item.is(ExprSyntax.self)
      || item.as(ExpressionStmtSyntax.self)?.expression.is(IfExprSyntax.self) == true
      || item.as(ExpressionStmtSyntax.self)?.expression.is(SwitchExprSyntax.self) == true
  }

  // MARK: Statements

  private func steps(_ item: CodeBlockItemSyntax) -> [Step] {
    switch item.item {
    case .decl(let declaration): steps(declaration)
    case .stmt(let statement): steps(statement)
    case .expr(let expression): step(expression)
    }
  }

  private func step(_ node: ExprSyntax) -> [Step] {
    if let conditional = node.as(IfExprSyntax.self) { return [branch(conditional)] }
    if let choice = node.as(SwitchExprSyntax.self) { return [choose(choice)] }
    if let assignment = assignment(node) { return [assignment] }
    return [.expression(expression(node))]
  }

  /// An assignment, also inside `try`.
  private func assignment(_ node: ExprSyntax) -> Step? {
    if let attempt = node.as(TryExprSyntax.self), let inner = operatorExpression(attempt.expression)
    {
      guard let symbol = assignmentSymbol(inner.operator) else { return nil }
      let value = Expr(
        .attempt(kind(of: attempt), expression(inner.rightOperand)), place(inner.rightOperand))
      return .assign(target: expression(inner.leftOperand), symbol: symbol, value: value)
    }
    guard let inner = operatorExpression(node), let symbol = assignmentSymbol(inner.operator) else {
      return nil
    }
    if let name = inner.leftOperand.as(DeclReferenceExprSyntax.self)?.baseName.text {
      expect(unsetTypes[name], of: inner.rightOperand)
    }
    let value = expression(inner.rightOperand)
    if inner.leftOperand.is(DiscardAssignmentExprSyntax.self) { return .expression(value) }
    return .assign(target: expression(inner.leftOperand), symbol: symbol, value: value)
  }

  private func operatorExpression(_ node: ExprSyntax) -> InfixOperatorExprSyntax? {
    node.as(InfixOperatorExprSyntax.self)
  }

  private func assignmentSymbol(_ symbol: ExprSyntax) -> String? {
    if symbol.is(AssignmentExprSyntax.self) { return "=" }
    guard let text = symbol.as(BinaryOperatorExprSyntax.self)?.operator.text, text.hasSuffix("="),
      !["==", "!=", "<=", ">=", "===", "!==", "~="].contains(text)
    else { return nil }
    return text
  }

  private func steps(_ node: StmtSyntax) -> [Step] {
    if let node = node.as(ExpressionStmtSyntax.self) { return step(node.expression) }
    if let node = node.as(ReturnStmtSyntax.self) {
      expect(resultType, of: node.expression)
      return [.exit(node.expression.map(expression), place(node))]
    }
    if let node = node.as(ThrowStmtSyntax.self) {
      return [.fail(expression(node.expression), place(node))]
    }
    if let node = node.as(GuardStmtSyntax.self) {
      let otherwise = steps(node.body.statements)
      return [.require(conditions(node.conditions), otherwise: otherwise)]
    }
    if let node = node.as(DoStmtSyntax.self) { return [doStatement(node)] }
    if let node = node.as(DeferStmtSyntax.self) { return [.later(steps(node.body.statements))] }
    if let node = node.as(ForStmtSyntax.self) {
      let source = expression(node.sequence)
      scope.push()
      defer { scope.pop() }
      var pattern = pattern(node.pattern)
      var body = steps(node.body.statements)
      if node.caseKeyword != nil, unwrapped(node.pattern) == nil, case .ignored = pattern {
        pattern = .name("element of the loop")
        let element = Expr(.name("element of the loop"), place(node.pattern))
        let condition = Condition.match(
          canonicalPattern(node.pattern), caseNames(node.pattern), element)
        body = [.branch([condition], then: body, otherwise: [])]
      }
      if let filter = node.whereClause?.condition {
        body = [.branch([.test(expression(filter))], then: body, otherwise: [])]
      }
      return [.loop(Loop(source: source, pattern: pattern, steps: body))]
    }
    if let node = node.as(WhileStmtSyntax.self) {
      let list = conditions(node.conditions)
      let body = steps(node.body.statements)
      return [
        .loop(
          Loop(
            source: Expr(.literal("while"), place(node)), pattern: .ignored,
            steps: [.branch(list, then: body, otherwise: [])]))
      ]
    }
    if let node = node.as(RepeatStmtSyntax.self) {
      return [
        .loop(
          Loop(
            source: Expr(.literal("repeat"), place(node)), pattern: .ignored,
            steps: steps(node.body.statements) + [.expression(expression(node.condition))]))
      ]
    }
    if node.is(ContinueStmtSyntax.self) { return [.leave(.iteration, place(node))] }
    if let node = node.as(BreakStmtSyntax.self) {
      return [.leave(node.leavesChoice ? .choice : .loop, place(node))]
    }
    if let node = node.as(LabeledStmtSyntax.self) { return steps(node.statement) }
    return []
  }

  private func doStatement(_ node: DoStmtSyntax) -> Step {
    let body = steps(node.body.statements)
    let handlers = node.catchClauses.map { clause -> Handler in
      scope.push()
      defer { scope.pop() }
      var name = "error"
      var names: [String] = []
      var written: String?
      var filter: Expr?
      if let item = clause.catchItems.first {
        if let pattern = item.pattern {
          if let binding = pattern.as(ValueBindingPatternSyntax.self),
            let identifier = binding.pattern.as(IdentifierPatternSyntax.self)
          {
            name = identifier.identifier.text
          } else {
            let all = clause.catchItems.compactMap { $0.pattern.map(canonicalPattern) }
            written = all.joined(separator: ", ")
            names = caseNames(pattern)
            names.forEach { scope.declare($0, .unknown) }
          }
        }
        scope.declare(name, .other)
        filter = item.whereClause.map { expression($0.condition) }
      }
      return Handler(
        pattern: written, name: name, names: names, filter: filter,
        steps: steps(clause.body.statements))
    }
    return .doCatch(body, handlers)
  }

  private func steps(_ node: DeclSyntax) -> [Step] {
    if let node = node.as(FunctionDeclSyntax.self), let body = node.body {
      let parameters = node.signature.parameterClause.parameters.map {
        (name: ($0.secondName ?? $0.firstName).text, type: $0.type.trimmedDescription)
      }
      scope.declare(node.name.text, .other)
      scope.push()
      let outer = resultType
      resultType = node.signature.returnClause?.type.trimmedDescription
      expectResult(of: body.statements)
      defer {
        scope.pop()
        resultType = outer
      }
      parameters.forEach { scope.declare(parameter: $0.name, type: $0.type, declarations) }
      let lowered = Body(
        parameters: parameters.map(\.name), steps: steps(body.statements),
        isExpression: isSingleExpression(body.statements),
        isMainActor: attributeNames(node.attributes).contains("MainActor"),
        resultIsVoid: node.signature.returnClause == nil, place: place(node))
      return [.function(name: node.name.text, lowered)]
    }
    guard let node = node.as(VariableDeclSyntax.self) else {
      if let conditional = node.as(IfConfigDeclSyntax.self) { return steps(conditional) }
      return []
    }
    let isAsync = node.modifiers.contains { $0.name.text == "async" }
    let isVariable = node.bindingSpecifier.text == "var"
    return node.bindings.map { binding in
      let written = binding.typeAnnotation?.type.trimmedDescription
      let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
      let isResult = name.map(node.isReturned) ?? false
      if let arrow = written?.range(of: "->", options: .backwards), let written,
        binding.initializer?.value.is(ClosureExprSyntax.self) == true
      {
        nextClosureResult = written[arrow.upperBound...].trimmingCharacters(
          in: CharacterSet(charactersIn: " )?"))
      }
      if let name { unsetTypes[name] = binding.initializer == nil ? written : nil }
      expect(written ?? (isResult ? resultType : nil), of: binding.initializer?.value)
      var value = binding.initializer.map { expression($0.value) }
      if value == nil, isVariable, written?.hasSuffix("?") ?? false {
        value = Expr(.literal("nil"), place(binding))
      }
      let type = written.map(declarations.type) ?? value?.type ?? .unknown
      let pattern = declare(binding.pattern, type: type, value: value)
      return .bind(pattern, value, isVariable: isVariable, isAsyncLet: isAsync)
    }
  }

  /// Both sides of `#if` are described: neither is known to be the one that is compiled.
  private func steps(_ node: IfConfigDeclSyntax) -> [Step] {
    var result: [Step] = []
    for clause in node.clauses.reversed() {
      guard case .statements(let statements)? = clause.elements else { continue }
      let own = statements.flatMap(steps)
      guard let condition = clause.condition else {
        result = own
        continue
      }
      result = [
        .branch([.fixed("#if " + condition.trimmedDescription)], then: own, otherwise: result)
      ]
    }
    return result
  }

  private func branch(_ node: IfExprSyntax) -> Step {
    scope.push()
    let list = conditions(node.conditions)
    let then = steps(node.body.statements)
    scope.pop()
    let otherwise: [Step] =
      switch node.elseBody {
      case .codeBlock(let block): steps(block.statements)
      case .ifExpr(let nested): [branch(nested)]
      case nil: []
      }
    return .branch(list, then: then, otherwise: otherwise)
  }

  private func choose(_ node: SwitchExprSyntax) -> Step {
    let subject = expression(node.subject)
    var cases: [Case] = []
    let isOptional = node.cases.contains { element in
      guard case .case(let label)? = element.as(SwitchCaseSyntax.self)?.label else { return false }
      return label.caseItems.contains { unwrapped($0.pattern) != nil }
    }
    for element in node.cases {
      guard let item = element.as(SwitchCaseSyntax.self) else { continue }
      scope.push()
      defer { scope.pop() }
      var pattern = "default"
      var names: [String] = []
      var filter: Expr?
      if case .case(let label) = item.label {
        names =
          label.caseItems.count == 1
          ? caseNames(label.caseItems[label.caseItems.startIndex].pattern)
          : boundNames(Syntax(label.caseItems))
        names.forEach { scope.declare($0, .unknown) }
        pattern = label.caseItems.map { canonicalPattern($0.pattern) }
          .map { isOptional && $0 == ".none" ? "nil" : $0 }
          .sorted().joined(separator: ", ")
        filter = label.caseItems.first?.whereClause.map { expression($0.condition) }
      }
      cases.append(
        Case(pattern: pattern, names: names, filter: filter, steps: steps(item.statements)))
    }
    return .choose(subject, cases)
  }

  func conditions(_ list: ConditionElementListSyntax) -> [Condition] {
    list.map { element in
      switch element.condition {
      case .expression(let value):
        return .test(expression(value))
      case .optionalBinding(let binding):
        let value = binding.initializer.map { expression($0.value) }
        if let value { return .unwrap(declare(binding.pattern, type: value.type), value) }
        let name = binding.pattern.trimmedDescription
        return .unwrap(.name(name), Expr(.name(name), place(binding)))
      case .matchingPattern(let match):
        let names = caseNames(match.pattern)
        let value = expression(match.initializer.value)
        names.forEach { scope.declare($0, .unknown) }
        if let pattern = unwrapped(match.pattern) { return .unwrap(pattern, value) }
        return .match(canonicalPattern(match.pattern), names, value)
      case .availability(let availability):
        return .fixed(availability.trimmedDescription)
      }
    }
  }
}

extension BreakStmtSyntax {
  /// Whether this leaves a `switch`, and not a loop.
  fileprivate var leavesChoice: Bool {
    guard label == nil else { return false }
    var node = parent
    while let current = node {
      if current.is(SwitchCaseSyntax.self) { return true }
      if current.is(ForStmtSyntax.self) || current.is(WhileStmtSyntax.self)
        || current.is(RepeatStmtSyntax.self)
      {
        return false
      }
      node = current.parent
    }
    return false
  }
}

extension VariableDeclSyntax {
  /// Whether a statement of the block with the declaration returns the constant `name`.
  fileprivate func isReturned(_ name: String) -> Bool {
    guard bindingSpecifier.text == "let",
      let block = parent?.parent?.parent?.as(CodeBlockItemListSyntax.self)
        ?? parent?.parent?.as(CodeBlockItemListSyntax.self)
    else { return false }
    return block.contains {
      $0.item.as(ReturnStmtSyntax.self)?.expression?.as(DeclReferenceExprSyntax.self)?.baseName.text
        == name
    }
  }
}
