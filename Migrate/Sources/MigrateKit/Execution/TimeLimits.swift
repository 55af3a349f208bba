import SwiftSyntax

/// How a function of a program gives up on asynchronous work after a time.
///
/// `async` code has no `timeout`, so a conversion brings its own: a race of the work with a pause, written
/// with a group, with tasks and a continuation, or with promises. All of them do the same.
struct TimeLimit {
  /// The position of the parameter for the work, which is a promise or a closure; nil if it's `self`.
  let work: Int?
  /// The position of the parameter for the time.
  let time: Int
  /// The error after this time, which can name parameters.
  let error: ExprSyntax

  /// Nil if the function does something else.
  init?(_ function: FunctionDeclaration) {
    guard let statements = function.statements, !function.callsItself else { return nil }
    let finder = TimeLimitFinder(viewMode: .sourceAccurate)
    finder.walk(statements)
    let types = function.parameters.map { $0.type.filter { !$0.isWhitespace } }
    let times = types.indices.filter {
      Self.durations.contains(types[$0]) && finder.pauses.contains(function.parameters[$0].name)
    }
    let works = types.indices.filter {
      guessType(types[$0]).isThenable
        || types[$0].contains("()->") && types[$0].contains("Promise<")
        || types[$0].contains("()async")
    }
    let names = function.parameters.map(\.name)
    let errors = finder.errors.filter {
      let text = $0.trimmedDescription
      return text != "CancellationError()" && (text != "error" || names.contains(text))
    }
    guard finder.isRace, times.count == 1,
      works.count == 1 || works.isEmpty && Declarations.thenables.contains(function.owner),
      let error = errors.first,
      errors.allSatisfy({ $0.trimmedDescription == error.trimmedDescription })
    else { return nil }
    (work, time, self.error) = (works.first, times[0], error)
  }

  private static let durations: Set<String> = [
    "TimeInterval", "Double", "Int", "Duration", "DispatchTimeInterval",
  ]
}

/// Finds what a function names in its pauses, the errors that it makes, and whether it runs two things
/// at a time.
private final class TimeLimitFinder: SyntaxVisitor {
  var pauses: Set<String> = []
  var errors: [ExprSyntax] = []
  var isRace = false

  override func visit(_ node: ThrowStmtSyntax) -> SyntaxVisitorContinueKind {
    errors.append(node.expression)
    return .visitChildren
  }

  override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let name = node.calledExpression.lastToken(viewMode: .sourceAccurate)?.text ?? ""
    // Helpers pause, too.
    if ["sleep", "after", "pause", "delay"].contains(where: name.lowercased().contains) {
      for token in node.arguments.tokens(viewMode: .sourceAccurate) { pauses.insert(token.text) }
    }
    switch name {
    case "race", "addTask", "Promise", "withCheckedThrowingContinuation",
      "withUnsafeThrowingContinuation":
      isRace = true
    case "failure", "reject", "resume":
      if let argument = node.arguments.first, node.arguments.count == 1,
        name != "resume" || argument.label?.text == "throwing"
      {
        errors.append(argument.expression)
      }
    default: break
    }
    return .visitChildren
  }

  // Code that tries again waits for a time, too.
  override func visit(_ node: WhileStmtSyntax) -> SyntaxVisitorContinueKind {
    pauses = []
    return .skipChildren
  }
}

extension Machine {
  /// The call of a function that limits the time of work; nil for other calls.
  func timeLimited(
    _ callee: Expr, _ arguments: [Expr.Argument], _ state: State
  ) throws -> Values? {
    let all = declarations.candidates(callee, arguments)
    guard all.count == 1, let limit = all[0].timeLimit, depth < 8 else { return nil }
    let function = all[0]
    let given = declarations.positions(of: arguments.map { $0.label ?? "_" }, in: function)
    var work: Expr?
    if let index = limit.work {
      work = given[index].map { arguments[$0].value }
    } else if case .member(let base?, _) = callee.kind {
      work = base
    }
    guard let work, let time = given[limit.time] else { return nil }
    // The parameters that the error can name.
    var expressions: [String: Expr] = [:]
    for (index, parameter) in function.parameters.enumerated() where index != limit.work {
      expressions[parameter.name] =
        given[index].map { arguments[$0].value } ?? function.defaultValue(at: index).map(lowered)
    }
    func lowered(_ syntax: ExprSyntax) -> Expr {
      Lowering(function.file, declarations, owner: function.owner).expression(syntax)
    }
    var state = state
    let outer = state.list
    if function.type.isThenable { state.list = state.startList(.chain) }
    let list = state.list
    func ended(_ outcome: Outcome, _ state: State) -> (State, Value?, Flow?) {
      var state = state
      state.list = outer
      return function.type.isThenable
        ? state.withPromise(outcome, list: list) : result(state, outcome)
    }
    return try evaluate(arguments[time].value, state).flatMap { state, seconds, flow -> Values in
      if let flow { return [(state, nil, flow)] }
      return try outcomes(of: work, state).flatMap { state, outcome, flow -> Values in
        if let flow { return [(state, nil, flow)] }
        return try passes(seconds ?? .nothing, callee.place, state).flatMap {
          state, isLate -> Values in
          guard isLate else { return [ended(outcome, state)] }
          var inner = state
          for (name, value) in expressions {
            inner.environment[name] = try evaluate(value, state).first?.1 ?? .nothing
          }
          return try evaluate(lowered(limit.error), inner).map { _, error, _ in
            ended(.rejected(error ?? .nothing), state)
          }
        }
      }
    }
  }

  /// The outcomes of a promise, or of a closure with work.
  private func outcomes(
    of work: Expr, _ state: State
  ) throws -> [(State, Outcome, Flow?)] {
    let results =
      if case .closure(let body) = work.kind {
        try invoke(body, [], state)
      } else {
        try evaluate(work, state)
      }
    return try results.flatMap { state, value, flow -> [(State, Outcome, Flow?)] in
      switch flow {
      case .thrown(let error)?: return [(state, .rejected(error), nil)]
      case let flow?: return [(state, .fulfilled(.nothing), flow)]
      case nil:
        let value = value ?? .nothing
        guard state.isPending(value) else { return [(state, .fulfilled(value), nil)] }
        return try settle(value, state).map { ($0, $1, nil) }
      }
    }
  }
}
