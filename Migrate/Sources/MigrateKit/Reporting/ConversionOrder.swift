import SwiftSyntax

/// The order in which to convert functions: those that call no other unconverted one come first.
struct ConversionOrder {
  let names: [String]

  init(_ program: Program, in files: [SourceFile]) {
    let own = Set(files.map(ObjectIdentifier.init))
    let functions = program.declarations.functions.filter {
      $0.type.isThenable && $0.statements != nil
    }
    let byName = Dictionary(grouping: functions, by: \.name)
    var callees: [ObjectIdentifier: [FunctionDeclaration]] = [:]
    for function in functions {
      let tokens = function.statements?.tokens(viewMode: .sourceAccurate).map { $0 } ?? []
      callees[ObjectIdentifier(function)] = tokens.flatMap { token -> [FunctionDeclaration] in
        guard case .identifier(let text) = token.tokenKind, let all = byName[text] else {
          return []
        }
        return all.filter { Self.calls(token, $0, in: function, program.declarations) }
      }
    }
    var order: [String] = []
    var state: [ObjectIdentifier: Bool] = [:]
    func visit(_ function: FunctionDeclaration) {
      let id = ObjectIdentifier(function)
      guard state[id] == nil else { return }
      state[id] = false
      for callee in callees[id] ?? [] { visit(callee) }
      state[id] = true
      guard own.contains(ObjectIdentifier(function.file)) else { return }
      order.append("\(function.place.description): \(function.fullName)")
    }
    for function in functions { visit(function) }
    names = order
  }

  /// Whether a token can name `callee`: the type of a receiver decides, if a property declares it.
  private static func calls(
    _ token: TokenSyntax, _ callee: FunctionDeclaration, in function: FunctionDeclaration,
    _ declarations: Declarations
  ) -> Bool {
    let member = token.parent?.parent?.as(MemberAccessExprSyntax.self)
    guard let member, member.declName.baseName.id == token.id, let base = member.base else {
      return true
    }
    if base.trimmedDescription == "self" { return callee.owner == function.owner }
    // A new object, or one that its type shares.
    let made = base.firstToken(viewMode: .sourceAccurate)?.text
    let name = base.lastToken(viewMode: .sourceAccurate)?.text ?? ""
    let type = declarations.typeName(ofProperty: name) ?? made
    if let type, type.first?.isUppercase == true { return type == callee.owner }
    // A function that calls one with its own name mostly forwards to another type.
    return callee.name != function.name || callee.owner != function.owner
  }
}
