/// What the closure of an operator returns, and which errors it gets.
extension Expr {
  /// What is known about the type of the value that a closure returns.
  var resultOfClosure: Expr? {
    guard case .closure(let body) = kind else { return nil }
    switch body.steps.last {
    case .exit(let value?, _)?: return value
    case .expression(let value)? where body.isExpression: return value
    default: return nil
    }
  }

  /// Whether this is a closure that returns a value, and not a promise.
  var returnsValue: Bool {
    guard case .closure(let body) = kind else { return false }
    if let written = body.writtenResult { return !guessType(written).isThenable }
    guard let value = resultOfClosure else { return false }
    if value.type == .other { return true }
    if case .member = value.kind { return !value.type.isThenable }
    return false
  }

  /// Whether this is a closure of which the declarations don't tell if it returns a promise.
  var mayReturnPromise: Bool {
    guard case .closure(let body) = kind, body.writtenResult == nil else { return false }
    // Without an expression, `if` or `switch` is the result.
    return resultOfClosure.map { $0.type == .unknown } ?? body.isExpression
  }

  /// Whether this is a closure whose result is declared as not optional.
  func isNeverNil(_ declarations: Declarations) -> Bool {
    guard case .closure(let body) = kind, body.steps.count == 1 else { return false }
    var value: Expr
    switch body.steps.first {
    case .expression(let only)?: value = only
    case .exit(let only?, _)?: value = only
    default: return false
    }
    if case .attempt(.propagate, let inner) = value.kind { value = inner }
    guard case .call(let callee, let arguments) = value.kind else { return false }
    return declarations.returnsNonOptional(callee, arguments)
  }
}

extension Link {
  /// Whether the handler isn't called for errors that represent cancellations.
  var skipsCancellations: Bool {
    guard library == .promiseKit, [.catchError, .recover, .cauterize].contains(role) else {
      return false
    }
    if let policy, case .member(_, let name) = policy.kind { return name != "allErrors" }
    if let overload { return overload != .guarantee }
    return !(role == .recover && returnsGuarantee)
  }

  /// Whether the overload of `recover` that handles all errors is chosen.
  private var returnsGuarantee: Bool {
    guard case .closure(let body)? = handler?.kind, !body.canThrow else { return false }
    if case .expression(let value)? = body.steps.last, body.isExpression {
      if case .call(let callee, _) = value.kind, case .member(nil, _) = callee.kind { return true }
      if case .member(nil, _) = value.kind { return true }
      return value.type == .guarantee
    }
    return body.steps.allSatisfy { if case .exit = $0 { false } else { true } }
  }
}
