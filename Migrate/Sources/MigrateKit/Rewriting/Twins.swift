import SwiftSyntax

/// Adds `async` overloads to functions that return promises: each awaits the promise.
struct Twins {
  let program: Program
  /// Functions, by file and name, whose conversion the check doesn't accept.
  let unproved: Set<String>

  /// The edits that add the overloads of a file.
  func edits(_ file: SourceFile) -> [FilePlan.Edit] {
    guard let library = Library.used(by: file.imports), library != .pledge else { return [] }
    return program.declarations.functions.filter {
      $0.file === file
        && unproved.isDisjoint(with: ["", $0.fullName].map { Rewriter.key(file.path, $0) })
    }.compactMap { edit($0, library) }
  }

  private func edit(_ function: FunctionDeclaration, _ library: Library) -> FilePlan.Edit? {
    guard function.type.isThenable, let node = function.node.as(FunctionDeclSyntax.self),
      node.body != nil, !hasTwin(function), let value = valueType(function), isPlain(node),
      node.parent?.parent?.is(MemberBlockItemListSyntax.self) == true
        || node.parent?.is(MemberBlockItemSyntax.self) == true
    else { return nil }
    let file = function.file
    let start = file.position(at: function.place.offset)
    let indentation = String(file.line(start.line).prefix { $0 == " " || $0 == "\t" })
    let unit = indentation.contains("\t") ? "\t" : indentation.count % 4 == 0 ? "    " : "  "
    let arguments = zip(function.labels, function.parameters).map { label, parameter in
      if parameter.type.contains("PMKNamespacer") { return ".promise" }
      return label == "_" ? parameter.name : "\(label): \(parameter.name)"
    }
    let bridge = library == .google ? "get()" : "async()"
    let isThrowing = function.type == .promise
    let modifiers = node.modifiers.trimmedDescription
    let attributes = node.attributes.trimmedDescription
    let head = [attributes, modifiers].filter { !$0.isEmpty }.joined(separator: " ")
    let generics = node.genericParameterClause?.trimmedDescription ?? ""
    let whereClause = node.genericWhereClause.map { " " + $0.trimmedDescription } ?? ""
    let result = ["Void", "()"].contains(value) ? "" : " -> \(value)"
    let text = """
      \(head.isEmpty ? "" : head + " ")func \(function.name)\(generics)\
      \(node.signature.parameterClause.trimmedDescription) async\
      \(isThrowing ? " throws" : "")\(result)\(whereClause) {
      \(unit)\(isThrowing ? "try await" : "await") \
      \(function.name)(\(arguments.joined(separator: ", "))).\(bridge)
      }
      """
    let lines = text.split(separator: "\n").map { indentation + $0 }
    let end = node.endPositionBeforeTrailingTrivia.utf8Offset
    return FilePlan.Edit(
      range: end..<end, text: "\n\n" + lines.joined(separator: "\n"))
  }

  /// Whether the overload could change what other declarations mean.
  private func isPlain(_ node: FunctionDeclSyntax) -> Bool {
    let excluded = ["override", "required", "static"]
    let parameters = node.signature.parameterClause.parameters
    return !node.modifiers.contains { excluded.contains($0.name.text) }
      && !attributeNames(node.attributes).contains {
        $0.hasPrefix("objc") || $0 == "discardableResult"
      }
      && node.signature.effectSpecifiers == nil
      && !parameters.contains { $0.ellipsis != nil || $0.type.description.contains("inout") }
      && !parameters.contains {
        $0.firstName.text == "_" && $0.secondName == nil
          && !$0.type.description.contains("PMKNamespacer")
      }
  }

  private func hasTwin(_ function: FunctionDeclaration) -> Bool {
    program.declarations.byName[function.name]?.contains {
      $0.isAsync && $0.owner == function.owner && $0.labels == function.labels
    } ?? false
  }

  private func valueType(_ function: FunctionDeclaration) -> String? {
    let text = function.returns
    guard let open = text.firstIndex(of: "<"), text.hasSuffix(">") else { return nil }
    return String(text[text.index(after: open)..<text.index(before: text.endIndex)])
  }
}
