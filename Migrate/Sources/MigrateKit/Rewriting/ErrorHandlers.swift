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
    if let fragment = try fragment(link) {
      if fragment.returnsAnywhere, !canReturn { throw ConversionFailure(.earlyReturn) }
      let (head, names) = try catchHead(fragment, link)
      code.handlers = [head] + lines(Array(fragment.statements), names).map { "  " + $0 }
    } else {
      guard let function = link.syntax?.arguments.last?.expression.trimmedDescription else {
        throw ConversionFailure(.operatorUnknown)
      }
      let filter = link.skipsCancellations ? "let error where !error.isCancelled " : ""
      code.handlers = ["catch \(filter){", "  (\(function))(error)"]
    }
    let isRejected = link.role == .catchAndPass && chain.usage == .returned
    if isRejected { code.handlers.append("  throw error") }
    code.handlers.append(link.skipsCancellations ? "} catch {}" : "}")
  }

  func appendRecover(_ link: Link, to code: inout Code) throws(ConversionFailure) {
    guard let fragment = try fragment(link), let result = fragment.split.result else {
      throw ConversionFailure(.operatorUnknown)
    }
    if fragment.returnsEarly { throw ConversionFailure(.earlyReturn) }
    if library == .google { _ = try kind(of: result, fragment, link) }
    let (head, names) = try catchHead(fragment, link)
    var value: String
    if let plain = Self.fulfilled(result) {
      value = plain.map { text($0, names) } ?? "()"
    } else if library == .google, try kind(of: result, fragment, link) == .value {
      value = text(result, names)
    } else {
      value = "try await \(Self.receiver(text(result, names))).\(bridge)"
    }
    code.recovers = true
    code.canFail =
      link.skipsCancellations || fragment.statements.description.contains("throw ")
      || fragment.hasTry || value.hasPrefix("try ")
    code.handlers =
      [head] + lines(fragment.split.body, names).map { "  " + $0 }
      + multiline("result = \(value)").map { "  " + $0 } + ["}"]
  }

  private func catchHead(
    _ fragment: Fragment, _ link: Link
  ) throws(ConversionFailure) -> (String, [String: String]) {
    let parameter = fragment.parameters.first ?? "_"
    let name = ["_", "$0"].contains(parameter) ? "error" : parameter
    let names = parameter == "$0" ? ["$0": "error"] : [:]
    let isUsed = parameter != "_"
    if link.skipsCancellations { return ("catch let \(name) where !\(name).isCancelled {", names) }
    return (isUsed && name != "error" ? "catch let \(name) {" : "catch {", names)
  }
}
