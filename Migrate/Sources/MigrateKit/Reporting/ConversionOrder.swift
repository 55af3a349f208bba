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
      var called: Set<String> = []
      if let tokens = function.statements?.tokens(viewMode: .sourceAccurate) {
        for token in tokens {
          if case .identifier(let text) = token.tokenKind, byName[text] != nil {
            called.insert(text)
          }
        }
      }
      callees[ObjectIdentifier(function)] = called.sorted().flatMap { byName[$0] ?? [] }
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
}
