import SwiftSyntax

/// The statements of handlers, with the names that they declare.
extension ChainConverter {
  struct Renaming {
    var names: [String: String] = [:]
    /// The expression for the value that the handler gets.
    var value = "()"
  }

  /// Declares the parameters of a handler.
  func bind(
    _ fragment: Fragment, needsValue: Bool, to code: inout Code
  ) throws(ConversionFailure) -> Renaming {
    let clashes = declared.intersection(fragment.mentioned.subtracting(fragment.parameters))
    if !clashes.isEmpty { throw ConversionFailure(clashes == ["self"] ? .capture : .names) }
    var renaming = Renaming()
    var names = fragment.parameters
    for (index, name) in names.enumerated() where name.hasPrefix("$") {
      let other = unique(index == 0 ? "value" : "value\(index)", fragment)
      renaming.names[name] = other
      names[index] = other
    }
    let isUnused = names.allSatisfy { $0 == "_" }
    if isUnused, needsValue, code.value != "()" { names = [unique("value", fragment)] }
    for (index, name) in names.enumerated() where name != "_" && declared.contains(name) {
      // A later handler can't see it.
      guard fragment.onlyRefers(to: name) else { throw ConversionFailure(.names) }
      names[index] = unique(name, fragment)
      renaming.names[name] = names[index]
    }
    if !declared.isDisjoint(with: fragment.declared)
      || !Set(names).isDisjoint(with: fragment.declared)
    {
      throw ConversionFailure(.names)
    }
    declared.formUnion(names.filter { $0 != "_" })
    declared.formUnion(fragment.declared)
    if names.allSatisfy({ $0 == "_" }) || code.value == "()" {
      if code.value != "()" { code.body += multiline("_ = \(code.value)") }
      renaming.value = "()"
      return renaming
    }
    let type = names.count == 1 ? fragment.types.first??.description : nil
    let pattern = names.count == 1 ? names[0] : "(\(names.joined(separator: ", ")))"
    code.body += multiline("let \(pattern)\(type.map { ": " + $0 } ?? "") = \(code.value)")
    renaming.value = names.count == 1 ? names[0] : "(\(names.joined(separator: ", ")))"
    return renaming
  }

  private func unique(_ name: String, _ fragment: Fragment) -> String {
    var result = name
    var number = 2
    while declared.contains(result) || fragment.mentioned.contains(result) {
      result = name + String(number)
      number += 1
    }
    return result
  }

  func statements(
    _ link: Link, needsNoReturn: Bool
  ) throws(ConversionFailure) -> [String] {
    guard let fragment = try fragment(link) else {
      guard let function = link.syntax?.arguments.last?.expression.trimmedDescription else {
        throw ConversionFailure(.operatorUnknown)
      }
      return ["(\(function))()"]
    }
    if needsNoReturn, fragment.returnsAnywhere { throw ConversionFailure(.earlyReturn) }
    // Cleanup comes before a `guard let self` in the handlers.
    if !declared.subtracting(["self"]).isDisjoint(with: fragment.mentioned) {
      throw ConversionFailure(.names)
    }
    return lines(Array(fragment.statements), [:])
  }

  func lines(_ items: [CodeBlockItemSyntax], _ names: [String: String]) -> [String] {
    guard !items.isEmpty else { return [] }
    let renamer = Renamer(names)
    return unindentedLines(items.map { renamer.rewrite(Syntax($0)).description }.joined())
  }

  func lines(_ expression: ExprSyntax, _ names: [String: String]) -> [String] {
    unindentedLines(Renamer(names).rewrite(Syntax(expression)).description)
  }

  func text(_ expression: ExprSyntax, _ names: [String: String]) -> String {
    let renamed = Renamer(names).rewrite(Syntax(expression)).trimmedDescription
    return unindentedLines(renamed, outdentedBy: expression.indentationOfLine)
      .joined(separator: "\n")
  }

  func multiline(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }
}
