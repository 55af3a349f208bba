import Foundation
import SwiftSyntax

/// Calls: which ones apply operators to promises, and what calls return.
extension Lowering {
  func call(_ node: FunctionCallExprSyntax, _ place: Place) -> Expr {
    let member = node.calledExpression.as(MemberAccessExprSyntax.self).flatMap {
      Self.modules.contains($0.base?.trimmedDescription ?? "") ? nil : $0
    }
    let own = node.calledExpression.as(DeclReferenceExprSyntax.self).flatMap {
      isOwnOperator($0.baseName.text) ? $0 : nil
    }
    let receiver =
      own.map { Expr(.name("self"), self.place($0), .promise) } ?? member?.base.map(expression)
    let called = member?.declName ?? own
    let name = called?.baseName.text ?? ""
    let isOperator =
      library.flatMap { Operators.role(name, $0) } != nil
      && (receiver?.type.isThenable ?? false || Operators.isTelling(name))
    nextParametersAreValues = isOperator
    var all = arguments(node.arguments)
    nextParametersAreValues = isOperator
    defer { nextParametersAreValues = false }
    if let trailing = node.trailingClosure {
      let isMap = library.flatMap { Operators.role(name, $0) } == .map
      nextClosureResult =
        requiresPromise(node.calledExpression)
        ? "Promise" : isMap ? expectedTypes[node.id].flatMap(promised) : nil
      all.append(
        Expr.Argument(label: Declarations.trailing, value: expression(ExprSyntax(trailing))))
    }
    for extra in node.additionalTrailingClosures {
      all.append(
        Expr.Argument(label: extra.label.text, value: expression(ExprSyntax(extra.closure))))
    }
    // `Type.init(…)` is `Type(…)`.
    if name == "init", let lowered = receiver, case .name(let type) = lowered.kind,
      type.first?.isUppercase == true
    {
      return Expr(.call(lowered, all), place, callType(lowered, all))
    }
    if let called, let lowered = receiver {
      let operatorPlace = self.place(called)
      if let link = chainLink(lowered, name, all, node, operatorPlace) {
        return Expr(.chain(link), operatorPlace, resultType(link))
      }
      let callee = Expr(.member(lowered, name), operatorPlace)
      return Expr(.call(callee, all), place, callType(lowered, name, all))
    }
    // `[Type]()` is `[]`, and `[Key: Value]()` is `[:]`.
    let type = node.calledExpression
    if type.is(ArrayExprSyntax.self) || type.is(DictionaryExprSyntax.self), all.isEmpty {
      return Expr(.list([]), place, .other)
    }
    var callee = expression(node.calledExpression)
    // `.init(…)` is `Type(…)`, too.
    if case .member(nil, "init") = callee.kind,
      let type = expectedTypes[node.id]?.trimmingCharacters(in: ["?", "!"]),
      type.first?.isUppercase == true, !declarations.type(named: type).isThenable
    {
      callee = Expr(.name(type), callee.place, .other)
    }
    return Expr(.call(callee, all), place, callType(callee, all))
  }

  /// Whether a name is that of an operator that an extension of promises applies to `self`.
  private func isOwnOperator(_ name: String) -> Bool {
    Declarations.thenables.contains(owner) && scope.type(of: name) == nil
      && library.flatMap { Operators.role(name, $0) } != nil
  }

  /// Whether a closure passed to `callee` has to return a promise.
  private func requiresPromise(_ callee: ExprSyntax) -> Bool {
    guard let library else { return false }
    let member = callee.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    guard let name = member ?? callee.as(DeclReferenceExprSyntax.self)?.baseName.text else {
      return false
    }
    if library == .promiseKit,
      ["then", "thenMap", "thenFlatMap", "firstly", "recover"].contains(name)
    {
      return true
    }
    return declarations.takesPromiseClosure(name)
  }

  /// The operator that a call applies to a promise; nil if the call isn't one, or if that isn't
  /// known.
  private func chainLink(
    _ base: Expr, _ name: String, _ all: [Expr.Argument], _ node: FunctionCallExprSyntax,
    _ place: Place
  ) -> Link? {
    guard let usual = library else { return nil }
    let module = declarations.index?.module(
      path: file.path, line: place.line, column: place.column)
    // A file can use two libraries.
    let library = module.flatMap(Library.init) ?? usual
    guard let role = Operators.role(name, library) else { return nil }
    if role == .toAsync || role == .wait, !all.onlyNameQueue { return nil }
    let hasHandler = all.contains { $0.value.isHandler }
    let hasClosure = all.contains { if case .closure = $0.value.kind { true } else { false } }
    if !hasHandler, role.needsHandler, !base.type.isThenable || all.isEmpty { return nil }
    let hasForeignLabel = all.contains { argument in
      argument.label.map { !Self.operatorLabels.contains($0) } ?? false
    }
    if hasForeignLabel, !base.type.isThenable {
      decisions.others += 1
      return nil
    }
    if let module {
      guard Library(rawValue: module) != nil else {
        decisions.others += 1
        return nil
      }
      decisions.byIndex += 1
    } else if base.type.isThenable {
      decisions.byDeclaration += 1
    } else if isOfOtherType(base) || !hasClosure && isDeclaredAsOther(base)
      || !Operators.isTelling(name) && (isUsedAsOther(node) || continuesAsOther(node))
    {
      decisions.others += 1
      return nil
    } else if declarations.declaresOperator(name, labels: labels(all)),
      !continuesAsChain(node)
        || declarations.resultType(ofCall: name, labels: labels(all), in: "") != .other
    {
      // The tree has a function of its own with this name: only a type decides.
      if hasHandler, base.type != .other { decisions.undecided.append(place) }
      return nil
    } else if Operators.isTelling(name),
      hasHandler || ["cauterize", "ignoreErrors", "asVoid"].contains(name)
    {
      decisions.byName += 1
    } else if continuesAsChain(node) || all.first?.label == "on" && hasHandler {
      decisions.byChain += 1
    } else if base.type == .other {
      decisions.others += 1
      return nil
    } else {
      // Without the import, a file can use promises of other files, but seldom does.
      if hasHandler, Library.used(by: file.imports) != nil { decisions.undecided.append(place) }
      return nil
    }
    return link(base, role, name, all, library, place, node)
  }

  /// Whether a receiver is a type, or a new value of one, that isn't a promise, what a property
  /// wrapper projects, or what `when` of a library for mocks returns.
  private func isOfOtherType(_ base: Expr) -> Bool {
    var type = base
    if case .call(let callee, _) = base.kind { type = callee }
    guard let name = type.lastName, let first = name.first(where: { $0 != "$" }) else {
      return false
    }
    if name.hasPrefix("$") { return first.isLetter }
    if isOfMocks(name), case .call = base.kind { return true }
    return first.isUppercase && scope.type(of: name) == nil
      && !declarations.type(named: name).isThenable
  }

  /// Whether a function is `when` of a library for mocks, and not PromiseKit's.
  private func isOfMocks(_ name: String) -> Bool {
    name == "when" && !file.imports.contains(Library.promiseKit.rawValue)
      && declarations.byName[name] == nil
  }

  /// Whether a call is where a promise can't be: in a string, as an operand, in a loop, as the argument
  /// of a collection, or where another type is written.
  private func isUsedAsOther(_ node: FunctionCallExprSyntax) -> Bool {
    if let type = expectedTypes[node.id] { return declarations.type(named: type) == .other }
    guard let parent = node.parent else { return false }
    if parent.is(ForStmtSyntax.self) { return true }
    if let infix = parent.as(InfixOperatorExprSyntax.self) {
      let symbol = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text
      // What an operator of a promise returns is optional only after `?`.
      return symbol.map { $0 != "??" || !node.calledExpression.isOptionalChain } ?? false
    }
    guard parent.is(LabeledExprSyntax.self), let owner = parent.parent?.parent else { return false }
    if owner.is(ExpressionSegmentSyntax.self) { return true }
    let callee = owner.as(FunctionCallExprSyntax.self)?.calledExpression.trimmedDescription ?? ""
    return ["Set", "Dictionary", "Array", "String"].contains(callee)
      || callee.hasPrefix("XCTAssert")
  }

  /// Whether the declaration of a name or a member says that it isn't a promise.
  private func isDeclaredAsOther(_ base: Expr) -> Bool {
    switch base.kind {
    case .name: base.type == .other
    case .member(_, let name): base.type == .other && !Self.collectionNames.contains(name)
    default: false
    }
  }

  /// The labels of the operators' arguments.
  private static let operatorLabels: Set<String> = [
    "on", "flags", "policy", "only", "isolation", Declarations.trailing,
  ]

  /// Whether the result, or what operators of any type make of it, has a member that other types
  /// have, and promises don't.
  private func continuesAsOther(_ node: FunctionCallExprSyntax) -> Bool {
    var call = Syntax(node)
    while true {
      var parent = call.parent
      while parent?.is(OptionalChainingExprSyntax.self) == true { parent = parent?.parent }
      guard let member = parent?.as(MemberAccessExprSyntax.self) else { return false }
      let name = member.declName.baseName.text
      if library.flatMap({ Operators.role(name, $0) }) == nil {
        let own = declarations.byName[name] ?? []
        return isOfOtherLibrary(name) && !own.contains { Declarations.thenables.contains($0.owner) }
      }
      guard !Operators.isTelling(name), let next = member.parent?.as(FunctionCallExprSyntax.self)
      else { return false }
      call = Syntax(next)
    }
  }

  /// Whether a call awaits a promise: `.async()`, or `.get()` of Google's drop-in module.
  private func isBridge(_ name: String, _ call: FunctionCallExprSyntax) -> Bool {
    guard call.arguments.allSatisfy({ $0.label?.text == "on" }), call.trailingClosure == nil else {
      return false
    }
    return library == .google ? name == "get" : ["async", "asyncValue"].contains(name)
  }

  /// Whether a later operator of the same chain is one that only promises have.
  private func continuesAsChain(_ node: FunctionCallExprSyntax) -> Bool {
    var current = Syntax(node)
    if isExpectedPromise(current) { return true }
    while let member = current.parent?.as(MemberAccessExprSyntax.self),
      let call = member.parent?.as(FunctionCallExprSyntax.self), let library
    {
      let name = member.declName.baseName.text
      if isBridge(name, call) { return true }
      guard Operators.role(name, library) != nil else { return false }
      if Operators.isTelling(name), !declarations.declaresOperator(name) {
        return true
      }
      current = Syntax(call)
      if isExpectedPromise(current) { return true }
    }
    return false
  }

  func link(
    _ base: Expr, _ role: Role, _ name: String, _ all: [Expr.Argument], _ library: Library?,
    _ place: Place, _ node: FunctionCallExprSyntax?
  ) -> Link {
    let handler = all.last { $0.label != "on" && $0.label != "flags" && $0.label != "policy" }
    let link = Link(
      base: base, role: role, name: name, library: library ?? self.library ?? .pledge,
      executor: all.first { $0.label == "on" }?.value,
      policy: all.first { $0.label == "policy" }?.value, arguments: all,
      handler: handler?.value, place: place, syntax: node)
    link.overload = declarations.index?.symbol(
      path: file.path, line: place.line, column: place.column
    ).flatMap(overload)
    links.append(link)
    return link
  }

  /// The overload that a USR names, by what the handler in its type returns.
  private func overload(_ usr: String) -> Link.Overload? {
    if usr.contains("C4then2on_") && usr.hasPrefix("s:8Promises") {
      if usr.hasSuffix("_qd__xKctlF") { return .value }
      return usr.hasSuffix("_yxKctF") ? .nothing : .promise
    }
    if usr.contains("7recover2on_") {
      return usr.hasSuffix("_xs5Error_pKctF") ? .value : .promise
    }
    if usr.contains("E7recover2on5flags") {
      return usr.contains("9Guarantee") ? .guarantee : .promise
    }
    return nil
  }

  private func resultType(_ link: Link) -> TypeGuess {
    switch link.role {
    case .wait, .toAsync: return .other
    case .cauterize: return .guarantee
    case .catchError: return .guarantee
    case .recover:
      // The overload that returns a guarantee is chosen for closures that can't throw and return
      // one; only a written type tells.
      return .promise
    case .map, .done, .get, .then, .finally, .asVoid:
      return link.base.type == .guarantee ? .guarantee : .promise
    default: return .promise
    }
  }

  private func labels(_ all: [Expr.Argument]) -> [String] { all.map { $0.label ?? "_" } }

  private func callType(_ callee: Expr, _ all: [Expr.Argument]) -> TypeGuess {
    guard case .name(let name) = callee.kind else { return .unknown }
    if let result = scope.result(of: name) { return result }
    if let local = scope.type(of: name), local != .unknown { return .unknown }
    let plain = name.split(separator: "<").first.map(String.init) ?? name
    if library != nil {
      switch plain {
      case "Promise": return .promise
      case "Guarantee": return .guarantee
      case "firstly": return closureType(all) == .guarantee ? .guarantee : .promise
      case "when" where isOfMocks(plain): return .other
      case "attempt" where library != .pledge: break
      case "race", "when", "all", "any", "retry", "wrap", "attempt":
        let isGuarantee = all.contains { $0.label == "resolved" || $0.label == "guarantees" }
        if declarations.byName[plain] == nil {
          return isGuarantee ? .guarantee : .promise
        }
      case "after": if all.count == 1 { return .guarantee }
      default: break
      }
    }
    if plain.first?.isUppercase == true || Self.collectionNames.contains(plain) { return .other }
    if declarations.isForeign(plain, in: file) { return .other }
    return declarations.resultType(ofCall: plain, labels: labels(all), in: owner)
  }

  private func callType(_ base: Expr, _ name: String, _ all: [Expr.Argument]) -> TypeGuess {
    if case .name(let text) = base.kind {
      if declarations.type(named: text).isThenable {
        return ["pending", "withResolvers"].contains(name)
          ? .other : (text.hasPrefix("Guarantee") ? .guarantee : .promise)
      }
      if text == "self" {
        return declarations.resultType(ofCall: name, labels: labels(all), in: owner)
      }
    }
    if all.contains(where: {
      if case .member(nil, "promise") = $0.value.kind { true } else { false }
    }) {
      // `dataTask(.promise, …)`: this first argument selects overloads that return promises.
      return .promise
    }
    if isOfOtherLibrary(name) || declarations.isForeign(name, in: file) { return .other }
    // What `map` of another type than a promise returns isn't one either.
    if base.type == .other, library.map({ Operators.role(name, $0) != nil }) ?? false {
      return .other
    }
    return declarations.resultType(
      ofCall: name, labels: labels(all), in: typeName(of: base) ?? "")
  }

  /// The name of an expression's type, if declarations say it.
  func typeName(of expression: Expr) -> String? {
    switch expression.kind {
    case .name("self"), .name("Self"):
      return owner
    case .name(let name):
      if scope.type(of: name) != nil { return nil }
      return name.first?.isUppercase == true
        ? name : declarations.typeName(ofProperty: name, in: owner)
    case .member(let base?, let name):
      return typeName(of: base).flatMap { declarations.typeName(ofProperty: name, in: $0) }
    case .call(let callee, let arguments):
      if case .name(let name) = callee.kind, name.first?.isUppercase == true { return name }
      let results = Set(declarations.candidates(callee, arguments).map(\.returns))
      return results.count == 1 ? results.first?.trimmingCharacters(in: ["?", "!"]) : nil
    default:
      return nil
    }
  }

  private func closureType(_ all: [Expr.Argument]) -> TypeGuess {
    guard case .closure(let body)? = all.last?.value.kind else { return .unknown }
    guard case .expression(let value)? = body.steps.last, body.isExpression else { return .unknown }
    return value.type
  }
}

extension Expr {
  /// Whether this can be the handler of an operator.
  var isHandler: Bool {
    switch kind {
    case .closure, .keyPath, .name: true
    // `Type.self` is no function.
    case .member(_, let name): name != "self"
    default: false
    }
  }
}
