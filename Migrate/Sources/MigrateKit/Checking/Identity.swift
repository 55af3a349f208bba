import Foundation
import SwiftSyntax

extension FunctionDeclaration {
  /// Whether the function is a method of a type, which code can name without the types around it.
  func isOwned(by type: String?) -> Bool {
    guard let type else { return false }
    return owner == type || owner.hasSuffix("." + Declarations.contained(type))
  }

  /// Whether the function, or one inside it, calls itself, or passes itself on.
  var callsItself: Bool {
    guard let statements else { return false }
    return statements.calls(name, labels: labels) || statements.hasRecursiveFunction
  }

  /// Whether the function is declared inside another one.
  var isLocal: Bool {
    sequence(first: node, next: \.parent).dropFirst().contains { $0.is(CodeBlockSyntax.self) }
  }

  /// Whether the function calls another one of its type.
  func calls(_ other: FunctionDeclaration) -> Bool {
    owner == other.owner && statements?.calls(other.name, labels: other.labels) ?? false
  }

  var hasLoop: Bool { statements?.hasLoop ?? false }

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

extension SyntaxProtocol {
  /// Whether a name is used as that of a function of this code or of `self`; with labels, whether it's
  /// called with some of these.
  fileprivate func calls(_ name: String, labels: [String]? = nil) -> Bool {
    tokens(viewMode: .sourceAccurate).contains { token in
      guard token.text == name, let reference = token.parent?.as(DeclReferenceExprSyntax.self)
      else { return false }
      if let labels {
        let member = reference.parent?.as(MemberAccessExprSyntax.self)
        let callee =
          member?.declName.id == reference.id ? member.map(Syntax.init) : Syntax(reference)
        guard let call = callee?.parent?.as(FunctionCallExprSyntax.self),
          Syntax(call.calledExpression).id == callee?.id,
          call.arguments.allSatisfy({ labels.contains($0.label?.text ?? "_") })
        else { return false }
      }
      let dot = token.previousToken(viewMode: .sourceAccurate)
      var base = dot?.previousToken(viewMode: .sourceAccurate)
      if base?.text == "?" { base = base?.previousToken(viewMode: .sourceAccurate) }
      return dot?.text != "." || base?.text == "self"
    }
  }

  /// Whether a function inside this code uses itself.
  fileprivate var hasRecursiveFunction: Bool {
    children(viewMode: .sourceAccurate).contains { child in
      if let function = child.as(FunctionDeclSyntax.self),
        function.body?.calls(function.name.text) == true
      {
        return true
      }
      return child.hasRecursiveFunction
    }
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
