import SwiftSyntax

/// Collects the declarations of a file.
final class DeclarationCollector: SyntaxVisitor {
  private let file: SourceFile
  private var owners: [String] = []
  var functions: [FunctionDeclaration] = []
  var properties: [(String, String, TypeGuess, typeName: String)] = []
  var types: [(String, TypeDeclaration)] = []
  var closures: [(String, TypeGuess)] = []
  var aliases: [(String, TypeGuess)] = []
  var pairs: [String: [String: TypeGuess]] = [:]
  var queues: [String: String] = [:]
  /// The numbers that constant properties are, by their names.
  var constants: [String: Set<String>] = [:]
  var setsDefaultQueue = false
  /// The properties that are compared as functions.
  var getters: Set<String> = []

  init(_ file: SourceFile) {
    self.file = file
    super.init(viewMode: .sourceAccurate)
  }

  private func enter(
    _ name: String, _ inheritance: InheritanceClauseSyntax?, _ attributes: AttributeListSyntax,
    generics: GenericParameterClauseSyntax? = nil, isActor: Bool = false, cases: [String] = [],
    isExtension: Bool = false
  ) -> SyntaxVisitorContinueKind {
    let full = (owners + [name]).joined(separator: ".")
    let names = attributeNames(attributes)
    var type = TypeDeclaration()
    type.inherited = Set(inheritance?.inheritedTypes.map { $0.type.trimmedDescription } ?? [])
    type.isMainActor = names.contains("MainActor")
    type.generics = Set(generics?.parameters.map(\.name.text) ?? [])
    type.isActor = isActor
    type.cases = Set(cases)
    type.isExtended = isExtension
    types.append((full, type))
    owners.append(name)
    return .visitChildren
  }

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(
      node.name.text, node.inheritanceClause, node.attributes, generics: node.genericParameterClause
    )
  }
  override func visitPost(_ node: ClassDeclSyntax) { owners.removeLast() }
  override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(
      node.name.text, node.inheritanceClause, node.attributes, generics: node.genericParameterClause
    )
  }
  override func visitPost(_ node: StructDeclSyntax) { owners.removeLast() }
  override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind {
    let cases = node.memberBlock.members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }
    return enter(
      node.name.text, node.inheritanceClause, node.attributes,
      cases: cases.flatMap { $0.elements.map(\.name.text) })
  }
  override func visitPost(_ node: EnumDeclSyntax) { owners.removeLast() }
  override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(
      node.name.text, node.inheritanceClause, node.attributes,
      generics: node.genericParameterClause,
      isActor: true)
  }
  override func visitPost(_ node: ActorDeclSyntax) { owners.removeLast() }
  override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(node.name.text, node.inheritanceClause, node.attributes)
  }
  override func visitPost(_ node: ProtocolDeclSyntax) { owners.removeLast() }
  override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
    enter(
      node.extendedType.trimmedDescription, node.inheritanceClause, node.attributes,
      isExtension: true)
  }
  override func visitPost(_ node: ExtensionDeclSyntax) { owners.removeLast() }

  override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
    let effects = node.signature.effectSpecifiers
    add(
      Syntax(node), name: node.name.text, parameters: node.signature.parameterClause,
      returns: node.signature.returnClause?.type.trimmedDescription ?? "",
      isAsync: effects?.asyncSpecifier != nil, throwsErrors: effects?.throwsClause != nil,
      modifiers: node.modifiers, attributes: node.attributes, statements: node.body?.statements)
    return .visitChildren
  }

  override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
    let effects = node.signature.effectSpecifiers
    add(
      Syntax(node), name: "init", parameters: node.signature.parameterClause,
      returns: "Self", isAsync: effects?.asyncSpecifier != nil,
      throwsErrors: effects?.throwsClause != nil, modifiers: node.modifiers,
      attributes: node.attributes, statements: node.body?.statements)
    return .visitChildren
  }

  override func visit(_ node: DeinitializerDeclSyntax) -> SyntaxVisitorContinueKind {
    add(
      Syntax(node), name: "deinit", parameters: nil, returns: "", isAsync: false,
      throwsErrors: false,
      modifiers: node.modifiers, attributes: node.attributes, statements: node.body?.statements)
    return .visitChildren
  }

  override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
    let isLocal =
      node.parent?.is(CodeBlockItemSyntax.self) == true
      && node.parent?.parent?.parent?.is(SourceFileSyntax.self) != true
    for binding in node.bindings {
      // `let (promise, resolver) = Promise<Value>.pending()`
      if !isLocal, let tuple = binding.pattern.as(TuplePatternSyntax.self)?.elements,
        let initial = binding.initializer?.value.trimmedDescription, initial.contains("pending()")
      {
        let value = initial.drop { $0 != "<" }.prefix { $0 != "." }
        for (part, type) in zip(tuple, ["Promise", "Resolver"]) {
          properties.append(
            (
              part.pattern.trimmedDescription, owners.joined(separator: "."),
              guessType(type + value),
              type + value
            ))
        }
      }
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
        continue
      }
      let written = binding.typeAnnotation?.type.trimmedDescription ?? ""
      let initial = binding.initializer?.value.trimmedDescription ?? ""
      let type = written.isEmpty ? guessValue(initial) : guessType(written)
      if let arrow = written.range(of: "->", options: .backwards) {
        let result = written[arrow.upperBound...].filter { !$0.isWhitespace && $0 != ")" }
        closures.append((name, guessType(result)))
      }
      if !isLocal {
        let typeName = written.isEmpty ? typeName(ofValue: initial) : written
        properties.append((name, owners.joined(separator: "."), type, typeName))
        if node.bindingSpecifier.text == "let",
          initial == "DispatchQueue.main" || initial.hasPrefix("DispatchQueue.global(")
        {
          queues[name] = initial
        }
        if node.bindingSpecifier.text == "let", let value = binding.initializer?.value,
          value.is(IntegerLiteralExprSyntax.self) || value.is(FloatLiteralExprSyntax.self)
        {
          constants[name, default: []].insert(initial)
        }
        // The parts of a stored pair of a promise and its resolver.
        let parts = binding.typeAnnotation.map { tupleParts($0.type) } ?? []
        for (part, type) in parts where guessType(type) != .other {
          pairs[name, default: [:]][part] = guessType(type)
        }
      }
      addAccessors(of: binding, name: name, written: written, in: node)
      if !isLocal { addClosure(of: binding, name: name, written: written, in: node) }
    }
    return .visitChildren
  }

  /// The type of a new value: `Mutex<State>` for `Mutex(State())`.
  private func typeName(ofValue initial: String) -> String {
    let parts = initial.split(separator: "(", maxSplits: 2).map(String.init)
    let name = parts.first ?? ""
    let inner = parts.dropFirst().first?.split(separator: " ").last.map(String.init) ?? ""
    let isProtected = name.hasSuffix("Mutex") || name.hasSuffix("Lock")
    return isProtected && inner.first?.isUppercase == true ? "\(name)<\(inner)>" : name
  }

  private func tupleParts(_ type: TypeSyntax) -> [(String, String)] {
    if let wrapped = type.as(OptionalTypeSyntax.self) { return tupleParts(wrapped.wrappedType) }
    let elements = type.as(TupleTypeSyntax.self)?.elements.map { $0 } ?? []
    if elements.count == 1, elements[0].firstName == nil { return tupleParts(elements[0].type) }
    return elements.compactMap { element in
      element.firstName.map { ($0.text, element.type.trimmedDescription) }
    }
  }

  override func visit(_ node: TypeAliasDeclSyntax) -> SyntaxVisitorContinueKind {
    aliases.append((node.name.text, guessResult(node.initializer.value.trimmedDescription)))
    return .skipChildren
  }

  override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
    if node.operator.is(AssignmentExprSyntax.self) {
      let target = node.leftOperand.trimmedDescription
      if target.contains("conf.Q") || target.hasSuffix("DispatchQueue.promises") {
        setsDefaultQueue = true
      }
    }
    return .visitChildren
  }

  private func guessValue(_ initial: String) -> TypeGuess {
    let text = initial.filter { !$0.isWhitespace }
    if text.isEmpty { return .unknown }
    if let first = text.first, "[\"-0123456789".contains(first) { return .other }
    if ["true", "false"].contains(text) { return .other }
    if text.hasPrefix("Promise<") && text.contains("pending()") { return .other }
    let called = String(text.prefix { $0 != "(" && $0 != "{" })
    let type = guessType(called)
    // A new value of another type.
    let isNew = called.first?.isUppercase == true && !called.contains(".") && called != text
    return type == .promise || isNew ? type : .unknown
  }

  /// A closure with which a property is initialized is described like a function.
  private func addClosure(
    of binding: PatternBindingSyntax, name: String, written: String, in node: VariableDeclSyntax
  ) {
    // Also one that is called at once: `lazy var provider = { … }()`.
    let value = binding.initializer?.value
    let called = value?.as(FunctionCallExprSyntax.self)?.calledExpression ?? value
    guard let closure = called?.as(ClosureExprSyntax.self) else { return }
    let result = written.range(of: "->", options: .backwards).map { written[$0.upperBound...] }
    let names: [(name: String, type: String)] =
      switch closure.signature?.parameterClause {
      case .simpleInput(let list): list.map { ($0.name.text, "") }
      case .parameterClause(let clause):
        clause.parameters.map {
          (($0.secondName ?? $0.firstName).text, $0.type?.trimmedDescription ?? "")
        }
      case nil: []
      }
    functions.append(
      FunctionDeclaration(
        file: file, node: Syntax(closure), owner: owners.joined(separator: "."),
        name: "\(name).closure", labels: names.map { _ in "_" }, parameters: names,
        returns: result.map { $0.trimmingCharacters(in: .whitespaces) } ?? "", isAsync: false,
        throwsErrors: false, isPrivate: false, attributes: attributeNames(node.attributes),
        statements: closure.statements))
  }

  private func addAccessors(
    of binding: PatternBindingSyntax, name: String, written: String, in node: VariableDeclSyntax
  ) {
    switch binding.accessorBlock?.accessors {
    case .getter(let statements):
      add(
        Syntax(binding), name: name, parameters: nil, returns: written, isAsync: false,
        throwsErrors: false, modifiers: node.modifiers, attributes: node.attributes,
        statements: statements, kind: "get")
    case .accessors(let accessors):
      for accessor in accessors {
        let kind = accessor.accessorSpecifier.text
        add(
          Syntax(accessor), name: name, parameters: nil, returns: kind == "get" ? written : "",
          isAsync: accessor.effectSpecifiers?.asyncSpecifier != nil,
          throwsErrors: accessor.effectSpecifiers?.throwsClause != nil,
          modifiers: node.modifiers, attributes: node.attributes,
          statements: accessor.body?.statements, kind: kind)
      }
    case nil:
      break
    }
  }

  private func add(
    _ node: Syntax, name: String, parameters: FunctionParameterClauseSyntax?, returns: String,
    isAsync: Bool, throwsErrors: Bool, modifiers: DeclModifierListSyntax,
    attributes: AttributeListSyntax, statements: CodeBlockItemListSyntax?, kind: String? = nil
  ) {
    let list = parameters?.parameters.map { $0 } ?? []
    // A getter that returns a promise, or that is `async`, is a function without parameters.
    let isFunction = kind == "get" && (isAsync || guessType(returns).isThenable)
    if isFunction { getters.insert(name) }
    let kind = isFunction ? nil : kind
    functions.append(
      FunctionDeclaration(
        file: file, node: node, owner: owners.joined(separator: "."),
        name: kind.map { "\(name).\($0)" } ?? name,
        labels: list.map { $0.firstName.text },
        parameters: list.map {
          (($0.secondName ?? $0.firstName).text, $0.type.trimmedDescription)
        },
        optionalPositions: Set(
          list.indices.filter { list[$0].defaultValue != nil || list[$0].ellipsis != nil }),
        returns: returns, isAsync: isAsync, throwsErrors: throwsErrors,
        isPrivate: modifiers.contains { ["private", "fileprivate"].contains($0.name.text) },
        attributes: attributeNames(attributes)
          + modifiers.filter { $0.name.text == "nonisolated" }.map { _ in "nonisolated" },
        statements: statements))
  }
}
