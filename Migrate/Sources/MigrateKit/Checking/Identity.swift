import Foundation
import SwiftSyntax

extension FunctionDeclaration {
  /// Whether the function is a method of a type, which code can name without the types around it.
  func isOwned(by type: String?) -> Bool {
    guard let type else { return false }
    return owner == type || owner.hasSuffix("." + Declarations.contained(type))
  }

  var callsItself: Bool {
    // Functions inside, too.
    let names = tokens.filter {
      $0.previousToken(viewMode: .sourceAccurate)?.tokenKind == .keyword(.func)
    }.map(\.text)
    return tokens.contains { token in
      guard token.text == name || names.contains(token.text),
        token.previousToken(viewMode: .sourceAccurate)?.tokenKind != .keyword(.func),
        token.nextToken(viewMode: .sourceAccurate)?.text == "("
      else {
        return false
      }
      let dot = token.previousToken(viewMode: .sourceAccurate)
      var base = dot?.previousToken(viewMode: .sourceAccurate)
      if base?.text == "?" { base = base?.previousToken(viewMode: .sourceAccurate) }
      return dot?.text != "." || base?.text == "self"
    }
  }

  var hasLoop: Bool { statements?.hasLoop ?? false }

  private var tokens: [TokenSyntax] {
    statements.map { Array($0.tokens(viewMode: .sourceAccurate)) } ?? []
  }

  /// Whether this is an operator that the tree adds to promises or their results.
  var isOperator: Bool {
    type.isThenable && Declarations.thenables.contains(owner)
      || name.hasSuffix(".get") && owner.hasSuffix("Result")
  }

  /// What the versions of a function have in common, whether or not its name says that it is
  /// `async`.
  var identity: String {
    var base = name
    for suffix in ["_async", "Async", "Promise"]
    where base.hasSuffix(suffix) && base.count > suffix.count {
      base.removeLast(suffix.count)
    }
    let types = parameters.map(\.type).filter { !$0.contains("PMKNamespacer") }
      .map(\.withoutPromises)
    let own = labels.enumerated().filter {
      !($0.offset < parameters.count && parameters[$0.offset].type.contains("PMKNamespacer"))
    }
    return "\(owner).\(base)(\(own.map { $0.element + ":" }.joined()))"
      + types.joined(separator: ",").filter { !$0.isWhitespace }
  }
}

extension String {
  /// A type in which closures return values in place of promises, with or without `async`.
  var withoutPromises: String {
    guard contains("->") else { return self }
    return replacingOccurrences(
      of: "\\b(async|throws|rethrows)\\b|@[A-Za-z]+", with: "", options: .regularExpression
    ).replacingOccurrences(
      of: "(Promise|Guarantee)<(.*)>", with: "$2", options: .regularExpression)
  }
}
