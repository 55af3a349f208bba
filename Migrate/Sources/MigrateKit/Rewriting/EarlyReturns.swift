import SwiftSyntax

/// Handlers that return at several places: in the last one of a chain that a function returns, each
/// of them settles the promise.
extension ChainConverter {
  /// Stands for the function that fulfills the promise, which gets its name later.
  static let fulfillment = "\u{2}"

  /// Whether a handler that returns early skips nothing but the rest of itself and the fulfillment of
  /// the promise.
  func canSettle(_ rest: ArraySlice<Link>, _ code: Code) -> Bool {
    chain.usage == .returned && code.cleanup.isEmpty
      && rest.allSatisfy { $0.role == .catchAndPass }
  }

  /// The statements of a handler, in which each `return` fulfills the promise.
  func settlingLines(
    _ body: [CodeBlockItemSyntax], _ link: Link, _ fragment: Fragment, _ renaming: Renaming
  ) throws(ConversionFailure) -> [String] {
    let result = fragment.split.result
    var kind = ResultKind.value
    switch link.role {
    case .done, .get: kind = .nothing
    case .then where library == .google:
      let returnsValue = fragment.statements.contains { $0.returnsValue }
      if let result {
        kind = try self.kind(of: result, fragment, link)
      } else if returnsValue {
        guard let written = fragment.result else { throw ConversionFailure(.operatorUnknown) }
        kind = guessType(written).isThenable ? .promise : .value
      } else {
        kind = .nothing
      }
      guard kind == .nothing ? !returnsValue : kind != .notPromise else {
        throw ConversionFailure(.operatorUnknown)
      }
    case .then: kind = .promise
    default: break
    }
    // Each of them writes a statement.
    let renamer = Renamer(renaming.names) { expression in
      var value = link.role == .done ? "()" : renaming.value
      if let expression, kind != .nothing {
        if let error = Self.rejected(expression) { return "throw \(error.trimmedDescription)" }
        let text = unindentedLines(expression.trimmedDescription).joined(separator: "\n")
        if kind == .value {
          value = text
        } else if let plain = Self.fulfilled(expression) {
          value = plain?.trimmedDescription ?? "()"
        } else {
          value = "try await \(Self.receiver(text)).\(self.bridge)"
        }
      }
      return "return \(Self.fulfillment)(\(value))"
    }
    return unindentedLines(body.map { renamer.rewrite(Syntax($0)).description }.joined())
  }

  /// Whether a handler passes its value on, and something uses it.
  func passesValueOn(_ link: Link, _ rest: ArraySlice<Link>) -> Bool {
    guard link.role == .get || returnsNothing(link) else { return false }
    for next in rest where ![.catchAndPass, .catchError, .cauterize, .finally].contains(next.role) {
      guard let closure = closure(next), let fragment = Fragment(closure) else { return true }
      if fragment.parameters.contains(where: { $0 != "_" }) { return true }
      if next.role != .get, !returnsNothing(next) { return false }
    }
    return chain.usage != .discarded
      && !["Promise<Void>", "Promise<()>"].contains(chain.function.returns)
  }

  /// Whether a handler of Google's `then` returns nothing, so that the value is passed on.
  private func returnsNothing(_ link: Link) -> Bool {
    guard library == .google, link.role == .then, let closure = closure(link),
      let fragment = Fragment(closure)
    else { return false }
    guard let result = fragment.split.result else {
      return !fragment.statements.contains { $0.returnsValue }
    }
    return (try? kind(of: result, fragment, link)) == .nothing
  }
}
