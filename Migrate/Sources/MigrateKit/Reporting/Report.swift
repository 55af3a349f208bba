import SwiftSyntax

/// The facts about the promises of a program.
public struct Report: Codable, Sendable {
  /// A chain, from the promise that it starts with to its last operator.
  struct ChainFacts: Codable, Sendable {
    var line: Int
    var library: String
    var source: String
    var usage: String
    var operators: [OperatorFacts]
    /// How an error ends: handled, reported, swallowed, returned to the caller, or never seen.
    var errors: String
    var isNested: Bool
    /// Nil if the conversion is exact.
    var decision: String?
    var question: String?
  }

  /// An operator of a chain.
  struct OperatorFacts: Codable, Sendable {
    var line: Int
    var name: String
    var runsOn: String
    var handles: String
    var skipsCancellations: Bool
    /// What the handler returns, by the overload in the build's index.
    ///
    /// It is a promise, a guarantee, a value, or nothing; nil without an index, and for operators
    /// without such overloads.
    var overload: String?
  }

  /// A fact about a place that isn't part of a chain.
  struct Note: Codable, Sendable {
    var line: Int
    var kind: String
    var text: String

    /// What the kinds are about.
    static let kinds = [
      "resolver": "A resolver that is used more than once",
      "wait": "A thread that waits for a promise",
      "cancellation": "A handler that isn't called for cancellations",
      "eager": "A stored promise, whose work starts where it is created",
      "conf.Q": "A change of the queues on which handlers run by default",
      "conf.catchPolicy": "A change of how cancellations are handled by default",
    ]
  }

  /// What a function does on its paths.
  struct Paths: Codable, Sendable {
    var onSuccess: [String]
    var onFailure: [String]
    var onCancellation: [String]
    var isComplete: Bool
  }

  struct FunctionFacts: Codable, Sendable {
    var name: String
    var line: Int
    var returns: String
    var chains: [ChainFacts]
    var notes: [Note]
    var paths: Paths?
  }

  struct FileFacts: Codable, Sendable {
    var path: String
    var functions: [FunctionFacts]
  }

  /// Counts for the whole tree.
  struct Summary: Codable, Sendable {
    var files = 0
    var lines = 0
    var chains = 0
    var operators = 0
    var decidedByIndex = 0
    var decidedByDeclaration = 0
    var decidedByName = 0
    var decidedByChain = 0
    var undecided = 0
    var exactChains = 0
    var exactOperators = 0
    var decisions: [String: Int] = [:]

    /// The share of operator calls whose receiver is known, in percent.
    var decidedPercent: Double {
      let decided = decidedByIndex + decidedByDeclaration + decidedByName + decidedByChain
      return decided + undecided == 0 ? 100 : 100 * Double(decided) / Double(decided + undecided)
    }
  }

  var summary = Summary()
  var files: [FileFacts] = []
  /// Calls whose receiver isn't known to be a promise or not.
  var undecided: [String] = []
  /// The functions that return promises, in the order in which to convert them: callees first.
  var order: [String] = []
  var problems: [String] = []

  /// Describes the promises of a tree.
  public init(_ tree: SourceTree) {
    let program = Program(tree)
    let rewriter = Rewriter(program)
    summary.files = tree.focusedFiles.count
    summary.lines = tree.focusedFiles.reduce(0) { $0 + $1.lineCount }
    problems = tree.problems.map { "\($0.path):\($0.line): \($0.message)" }
    let byFile = Dictionary(grouping: program.declarations.functions) { ObjectIdentifier($0.file) }
    for file in tree.focusedFiles {
      let plan = rewriter.plan(file)
      let functions = byFile[ObjectIdentifier(file)] ?? []
      var facts: [FunctionFacts] = []
      for function in functions {
        let own = FactCollector(program, function, plan).facts
        if !own.chains.isEmpty || !own.notes.isEmpty { facts.append(own) }
      }
      count(plan)
      if !facts.isEmpty { files.append(FileFacts(path: file.path, functions: facts)) }
    }
    let decisions = program.decisions
    summary.decidedByIndex = decisions.byIndex
    summary.decidedByDeclaration = decisions.byDeclaration
    summary.decidedByName = decisions.byName
    summary.decidedByChain = decisions.byChain
    summary.undecided = decisions.undecided.count
    undecided = decisions.undecided.map(\.description)
    summary.chains = files.reduce(0) { $0 + $1.functions.reduce(0) { $0 + $1.chains.count } }
    summary.operators = files.reduce(0) { total, file in
      total
        + file.functions.reduce(0) { $0 + $1.chains.reduce(0) { $0 + $1.operators.count } }
    }
    order = ConversionOrder(program, in: tree.focusedFiles).names
  }

  private mutating func count(_ plan: FilePlan) {
    for item in plan.items {
      if let decision = item.decision {
        summary.decisions[decision.rawValue, default: 0] += 1
      } else {
        summary.exactChains += 1
        summary.exactOperators += item.operators
      }
    }
  }
}

/// Collects the facts about a function.
private struct FactCollector {
  let facts: Report.FunctionFacts

  init(_ program: Program, _ function: FunctionDeclaration, _ plan: FilePlan) {
    _ = program.body(of: function)
    let links = program.links[ObjectIdentifier(function)] ?? []
    let decisions = Dictionary(
      plan.items.map { ($0.chain.syntax.id, $0.decision) }, uniquingKeysWith: { first, _ in first })
    let chains = Chain.all(links, in: function).map { chain -> Report.ChainFacts in
      let decision = decisions[chain.syntax.id] ?? nil
      return Report.ChainFacts(
        line: chain.place.line, library: chain.links.first?.library.rawValue ?? "",
        source: readable(
          chain.source.trimmedDescription.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")),
        usage: chain.usage.rawValue, operators: chain.links.map(Self.facts),
        errors: Self.errors(of: chain), isNested: chain.isNested, decision: decision?.rawValue,
        question: decision?.question)
    }
    let notes = NoteCollector.notes(of: function, links: links)
    var paths: Report.Paths?
    if !chains.isEmpty, let unit = program.unit(function, Reading()) {
      paths = Self.paths(unit)
    }
    facts = Report.FunctionFacts(
      name: function.fullName, line: function.place.line, returns: function.returns,
      chains: chains.sorted { $0.line < $1.line }, notes: notes, paths: paths)
  }

  private static func facts(_ link: Link) -> Report.OperatorFacts {
    var runsOn = link.library == .pledge ? "isolation of the closure" : "main queue"
    if let executor = link.executor {
      switch executor.kind {
      case .literal("nil"): runsOn = "where the promise settles"
      default: runsOn = executor.sourceText
      }
    }
    let handles: String =
      switch link.role {
      case .then, .map, .compactMap, .done, .get, .eachValue, .eachPromise, .asVoid: "value"
      case .catchError, .catchAndPass, .recover, .cauterize: "error"
      case .finally, .tap: "value and error"
      case .policy: "time or condition"
      case .wait: "blocks the thread"
      case .toAsync: "awaited"
      }
    return Report.OperatorFacts(
      line: link.place.line, name: link.name, runsOn: runsOn, handles: handles,
      skipsCancellations: link.skipsCancellations || link.role == .cauterize,
      overload: link.overload?.rawValue)
  }

  private static func errors(of chain: Chain) -> String {
    guard let last = chain.links.last(where: { $0.name != "finally" || $0.library != .promiseKit })
    else { return "" }
    switch last.role {
    case .catchError:
      if let handler = last.handler, case .closure(let body) = handler.kind {
        return body.steps.isEmpty ? "swallowed" : "handled"
      }
      return "handled"
    case .cauterize: return "logged"
    default: break
    }
    switch chain.usage {
    case .returned: return "passed to the caller"
    case .discarded:
      return chain.links.contains { $0.role == .catchAndPass } ? "handled" : "never seen"
    case .awaited, .blocked: return "thrown"
    case .stored, .argument: return "passed on"
    }
  }

  private static func paths(_ unit: Unit) -> Report.Paths {
    func effects(_ paths: [Path]) -> [String] {
      var seen: Set<String> = []
      var result: [String] = []
      for path in paths {
        for event in path.events where event.isStrong && seen.insert(event.key).inserted {
          let effect = readable(named(event.key, unit.body.parameters))
          result.append("\(event.place.line): \(effect) on \(event.executor)")
        }
      }
      return result
    }
    func isCancelled(_ path: Path) -> Bool {
      path.decisions.contains { $0.value && $0.key.hasSuffix(".isCancelled") }
    }
    func fails(_ path: Path) -> Bool {
      path.decisions.contains { $0.value && $0.key.hasPrefix("fails: ") }
    }
    return Report.Paths(
      onSuccess: effects(unit.paths.filter { !fails($0) }),
      onFailure: effects(unit.paths.filter { fails($0) && !isCancelled($0) }),
      onCancellation: effects(unit.paths.filter(isCancelled)), isComplete: !unit.isLinear)
  }
}

extension Expr {
  /// The expression as it is written, if it is short.
  var sourceText: String {
    switch kind {
    case .name(let name), .literal(let name): name
    case .member(let base?, let name): base.sourceText + "." + name
    case .member(nil, let name): "." + name
    case .call(let callee, let arguments):
      callee.sourceText + "("
        + arguments.map { ($0.label.map { $0 + ": " } ?? "") + $0.value.sourceText }
        .joined(separator: ", ") + ")"
    default: "…"
    }
  }
}
