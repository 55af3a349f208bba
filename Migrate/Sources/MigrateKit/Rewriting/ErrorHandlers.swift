import SwiftSyntax

extension ChainConverter {
  func appendCatch(
    _ link: Link, to code: inout Code, canReturn: Bool
  ) throws(ConversionFailure) {
    if link.role == .cauterize {
      code.handlers = [
        "catch let error where !error.isCancelled {", "  conf.logHandler(.cauterized(error))",
        "} catch {}",
      ]
      return
    }
    let isRejected = link.role == .catchAndPass && chain.usage == .returned
    var error = "error"
    if let fragment = try fragment(link) {
      if fragment.statements.isEmpty, !isRejected { return code.handlers = ["catch {}"] }
      if fragment.returnsAnywhere, !canReturn { throw ConversionFailure(.earlyReturn) }
      let clause = try catchHead(fragment, link, needsError: isRejected)
      error = clause.error
      code.handlers =
        [clause.head] + lines(Array(fragment.statements), clause.names).map { "  " + $0 }
    } else {
      guard let function = link.syntax?.arguments.last?.expression.trimmedDescription else {
        throw ConversionFailure(.operatorUnknown)
      }
      let filter = link.skipsCancellations ? "let error where !error.isCancelled " : ""
      code.handlers = ["catch \(filter){", "  (\(function))(error)"]
    }
    if isRejected { code.handlers.append("  throw \(error)") }
    code.handlers.append(link.skipsCancellations ? "} catch {}" : "}")
  }

  func appendRecover(_ link: Link, to code: inout Code) throws(ConversionFailure) {
    guard let fragment = try fragment(link), let result = fragment.split.result else {
      throw ConversionFailure(.operatorUnknown)
    }
    if fragment.returnsEarly { throw ConversionFailure(.earlyReturn) }
    let kind = library == .google ? try kind(of: result, fragment, link) : .promise
    guard kind != .notPromise else { throw ConversionFailure(.operatorUnknown) }
    let clause = try catchHead(fragment, link, needsError: false)
    let names = clause.names
    var value: String
    let error = Self.rejected(result)
    if let error {
      value = "throw \(text(error, names))"
    } else if let plain = Self.fulfilled(result) {
      value = plain.map { text($0, names) } ?? "()"
    } else if kind != .promise {
      value = text(result, names)
    } else {
      value = try awaited(result, names, fragment, isLast: true)
    }
    code.recovers = true
    code.canFail =
      link.skipsCancellations || fragment.canThrow || value.hasPrefix("try ") || error != nil
    code.handlers =
      [clause.head] + lines(fragment.split.body, names).map { "  " + $0 }
      + multiline((error == nil ? Self.assignment : "") + value).map { "  " + $0 } + ["}"]
  }

  /// The start of a `catch` clause, the new names in its handler, and the name of the error.
  private func catchHead(
    _ fragment: Fragment, _ link: Link, needsError: Bool
  ) throws(ConversionFailure) -> (head: String, names: [String: String], error: String) {
    let parameter = fragment.parameters.first ?? "_"
    var name = parameter
    var renaming: [String: String] = [:]
    if ["_", "$0"].contains(parameter) {
      // `catch` declares `error`: the handler can mean another variable of this name.
      name = fragment.mentioned.contains("error") ? names.unused("failure") : "error"
      renaming = ["$0": name]
    }
    if link.skipsCancellations {
      return ("catch let \(name) where !\(name).isCancelled {", renaming, name)
    }
    let isUsed = needsError || parameter != "_"
    if name == "error" { return ("catch {", renaming, name) }
    return (isUsed ? "catch let \(name) {" : "catch _ {", renaming, name)
  }
}
