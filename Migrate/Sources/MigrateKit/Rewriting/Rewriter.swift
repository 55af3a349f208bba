import Foundation
import SwiftSyntax

/// The edits that convert the chains of a file.
public struct FilePlan {
  /// A replacement of bytes.
  struct Edit {
    let range: Range<Int>
    let text: String
  }

  /// A chain with what can be done about it.
  struct Item {
    let chain: Chain
    let decision: Decision?
    /// How many operators the conversion replaces.
    let operators: Int
  }

  let file: SourceFile
  var items: [Item] = []
  var edits: [Edit] = []

  /// The converted text.
  var text: String {
    var bytes = Array(file.text.utf8)
    for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      bytes.replaceSubrange(edit.range, with: Array(edit.text.utf8))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// Plans the conversion of the chains of a program to `async` code.
final class Rewriter {
  private let program: Program
  private var names: [ObjectIdentifier: Names] = [:]

  /// Functions, by file and name, whose conversion the check doesn't accept.
  private let unproved: Set<String>

  init(_ program: Program, unproved: Set<String> = []) {
    self.program = program
    self.unproved = unproved
  }

  func plan(_ file: SourceFile) -> FilePlan {
    var plan = FilePlan(file: file)
    var seen: Set<SyntaxIdentifier> = []
    var chains: [Chain] = []
    for function in program.declarations.functions where function.file === file {
      _ = program.body(of: function)
      for chain in Chain.all(program.links[ObjectIdentifier(function)] ?? [], in: function)
      where seen.insert(chain.syntax.id).inserted {
        chains.append(chain)
      }
    }
    let byId = Dictionary(chains.map { ($0.syntax.id, $0) }) { first, _ in first }
    for chain in chains.sorted(by: { $0.place.offset < $1.place.offset }) where !chain.isNested {
      convert(chain, inner: byId, &plan)
    }
    return plan
  }

  private func convert(_ chain: Chain, inner: [SyntaxIdentifier: Chain], _ plan: inout FilePlan) {
    // In the source of a chain that is converted.
    if plan.edits.contains(where: { $0.range.contains(chain.place.offset) }) { return }
    do {
      let converter = ChainConverter(
        chain, inner: inner, program.declarations, names(of: chain.function))
      try converter.checkSurroundings()
      if isUnproved(chain) { throw ConversionFailure(.unproved) }
      // Without an index, nothing tells which of two libraries a chain belongs to.
      if program.declarations.index == nil, chain.place.file.importsSeveralLibraries {
        throw ConversionFailure(.library)
      }
      switch chain.usage {
      case .stored:
        if isSourceOfTask(chain) { return }
        throw ConversionFailure(.stored)
      case .argument:
        // A method that the program adds to promises gets it.
        if let method = chain.syntax.parent?.as(MemberAccessExprSyntax.self) {
          throw ConversionFailure(.operatorUnknown, method.declName.baseName.text)
        }
        throw ConversionFailure(.passed)
      case .blocked: throw ConversionFailure(.blocking)
      case .awaited: return
      case .returned, .discarded: break
      }
      // A task must not block its thread.
      if inner.values.contains(where: { $0.usage == .blocked && $0.syntax.isInside(chain.syntax) })
      {
        throw ConversionFailure(.blocking)
      }
      let code = try converter.convert()
      let edit = try edit(chain, code, converter)
      plan.edits.append(edit)
      plan.items.append(
        FilePlan.Item(chain: chain, decision: nil, operators: code.convertedOperators))
    } catch let failure as ConversionFailure {
      plan.items.append(
        FilePlan.Item(chain: chain, decision: failure.decision, operators: 0))
      if !failure.decision.leavesCodeUntouched, let edit = mark(chain, failure),
        !plan.edits.contains(where: { $0.range == edit.range && $0.text == edit.text })
      {
        plan.edits.append(edit)
      }
    } catch {}
  }

  /// Names a function of a tree, or all functions of a file.
  static func key(_ path: String, _ function: String = "") -> String { "\(path): \(function)" }

  /// Whether the check doesn't accept a conversion in the functions around a chain.
  private func isUnproved(_ chain: Chain) -> Bool {
    if unproved.isEmpty { return false }
    let file = chain.place.file
    return unproved.contains(Self.key(file.path))
      || program.declarations.functions.contains { function in
        function.file === file && unproved.contains(Self.key(file.path, function.fullName))
          && function.node.position.utf8Offset <= chain.place.offset
          && chain.place.offset < function.node.endPosition.utf8Offset
      }
  }

  private func names(of function: FunctionDeclaration) -> Names {
    let id = ObjectIdentifier(function)
    if let known = names[id] { return known }
    let own = Names(function)
    names[id] = own
    return own
  }

  // MARK: Edits

  /// The statement that the chain is part of.
  private func statement(_ chain: Chain) -> CodeBlockItemSyntax? {
    var node: Syntax? = Syntax(chain.syntax)
    while let current = node {
      if let item = current.as(CodeBlockItemSyntax.self) { return item }
      node = current.parent
    }
    return nil
  }

  /// Whether an earlier conversion has written the constant with the chain, which a task awaits.
  private func isSourceOfTask(_ chain: Chain) -> Bool {
    guard let item = statement(chain), item.trimmedDescription.hasPrefix("let source"),
      let list = item.parent?.as(CodeBlockItemListSyntax.self)
    else { return false }
    // A promise for the result can come between them.
    return list.drop { $0.id != item.id }.dropFirst().prefix(2).contains {
      $0.item.as(FunctionCallExprSyntax.self)?.calledExpression.trimmedDescription == "Task"
    }
  }

  private func edit(
    _ chain: Chain, _ code: ChainConverter.Code, _ converter: ChainConverter
  ) throws(ConversionFailure) -> FilePlan.Edit {
    guard let item = statement(chain), chain.function.statements != nil else {
      throw ConversionFailure(.passed)
    }
    let isDirect =
      item.item.as(ReturnStmtSyntax.self)?.expression?.id == chain.syntax.id
      || item.item.as(ExprSyntax.self)?.id == chain.syntax.id
    guard isDirect else { throw ConversionFailure(.stored) }
    let endsChain =
      [.catchError, .cauterize].contains(chain.links.last?.role)
      || chain.links.last?.name == "finally" && converter.library == .promiseKit
    let isReturned = chain.usage == .returned && !endsChain
    if isReturned, !isResultOfFunction(item, chain.function) { throw ConversionFailure(.passed) }
    if !isReturned, code.recovers { throw ConversionFailure(.recoverInside) }
    let start = chain.function.file.position(
      at: item.positionAfterSkippingLeadingTrivia.utf8Offset)
    let line = chain.function.file.line(start.line)
    let indentation = String(line.prefix { $0 == " " || $0 == "\t" })
    let unit = indentation.hasPrefix("\t") ? "\t" : indentUnit(chain.function.file)
    let lines =
      isReturned
      ? try returned(code, chain, converter, unit) : discarded(code, converter, unit)
    // Without a semicolon after it.
    let end = item.item.endPositionBeforeTrailingTrivia.utf8Offset
    let range = item.positionAfterSkippingLeadingTrivia.utf8Offset..<end
    let converted = lines.joined(separator: "\n")
    let lost = chain.syntax.innerComments.filter { !converted.contains($0) }
    let text = (lost.flatMap(split) + lines).enumerated().map { index, line in
      index == 0 || line.isEmpty ? line : indentation + line
    }
    return FilePlan.Edit(range: range, text: text.joined(separator: "\n"))
  }

  private func isResultOfFunction(
    _ item: CodeBlockItemSyntax, _ function: FunctionDeclaration
  ) -> Bool {
    var node = Syntax(item).parent
    while let current = node {
      if current.is(ClosureExprSyntax.self) {
        return function.type.isThenable && current.id == function.node.id
      }
      if current.is(FunctionDeclSyntax.self) || current.is(AccessorDeclSyntax.self)
        || current.is(PatternBindingSyntax.self)
      {
        return function.type.isThenable && current.id == function.node.id
      }
      node = current.parent
    }
    return false
  }

  private func indentUnit(_ file: SourceFile) -> String {
    let spaces = (1...max(1, min(400, file.lineCount))).map { number in
      file.line(number).prefix { $0 == " " }.count
    }
    // In code with four spaces, some lines are continued with another indentation.
    let two = spaces.filter { $0 % 4 == 2 }.count
    return two * 5 > spaces.filter { $0 > 0 }.count ? "  " : "    "
  }

  private func task(_ code: ChainConverter.Code, _ converter: ChainConverter) -> String {
    // A program can have a type of its own with this name.
    let type = program.declarations.types["Task"] == nil ? "Task" : "_Concurrency.Task"
    switch converter.place {
    case .main:
      return "\(type) { @MainActor \(converter.capture.map { $0 + " " } ?? "")in"
    case .queue(let queue):
      let capture = converter.capture.map { " \($0) in" } ?? ""
      return "\(type)(on: \(queue), after: \(code.name ?? code.source)) {\(capture)"
    }
  }

  private func sourceLine(_ code: ChainConverter.Code) -> [String] {
    code.declaration.map { split("let \($0) = \(code.source)") } ?? []
  }

  /// The statement for a value that isn't used, if it does anything.
  private func effect(_ value: String) -> [String] {
    ChainConverter.isWord(value) || value == "()" ? [] : split(value)
  }

  private func split(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The body of the `do` statement, with cleanup that runs in the order of the source.
  private func work(_ code: ChainConverter.Code, _ end: [String], _ unit: String) -> [String] {
    var lines: [String] = []
    for cleanup in code.cleanup.reversed() {
      lines.append("defer {")
      lines += cleanup.map { unit + $0 }
      lines.append("}")
    }
    return lines + code.body + end
  }

  private func indented(_ lines: [String], _ unit: String) -> [String] {
    lines.map { $0.isEmpty ? $0 : unit + $0 }
  }

  /// `do { … } catch …`, with the `catch` clauses of the chain.
  private func guarded(_ work: [String], _ handlers: [String], _ unit: String) -> [String] {
    var lines = ["do {"] + indented(work, unit)
    guard let first = handlers.first else { return lines + ["}"] }
    lines.append("} " + first)
    lines += handlers.dropFirst().map { $0.hasPrefix("  ") ? unit + $0.dropFirst(2) : $0 }
    return lines
  }

  /// A chain whose result isn't used: its promise is created, and a task awaits it.
  private func discarded(
    _ code: ChainConverter.Code, _ converter: ChainConverter, _ unit: String
  ) -> [String] {
    let end = effect(code.value).isEmpty ? [] : split("_ = \(code.value)")
    let handlers = code.handlers.isEmpty && code.canFail ? ["catch {}"] : code.handlers
    let work = work(code, end, unit)
    let body = (handlers.isEmpty ? work : guarded(work, handlers, unit)) + code.afterward
    return sourceLine(code) + [task(code, converter)] + indented(body, unit) + ["}"]
  }

  /// A chain whose promise is returned: a task settles that promise.
  private func returned(
    _ code: ChainConverter.Code, _ chain: Chain, _ converter: ChainConverter, _ unit: String
  ) throws(ConversionFailure) -> [String] {
    let type = valueType(chain.function)
    guard !type.isEmpty, !code.source.isEmpty else { throw ConversionFailure(.passed) }
    let isGoogle = converter.library == .google
    let isVoid = ["Void", "()"].contains(type)
    let isGuarantee = chain.function.type == .guarantee
    guard !isGuarantee else { throw ConversionFailure(.operatorUnknown) }
    let settle = converter.names.unused(isGoogle ? "promise" : "resolver")
    let needsResult = !(code.cleanup.isEmpty && !code.recovers || isVoid)
    let result = needsResult ? converter.names.unused("result") : "result"
    func fulfill(_ value: String) -> [String] {
      if value == "()" { return ["\(settle).fulfill(())"] }
      if isVoid { return effect(value) + ["\(settle).fulfill(())"] }
      return split("\(settle).fulfill(\(value))")
    }
    var body: [String]
    if code.cleanup.isEmpty, !code.recovers {
      body = work(code, code.fulfillsEverywhere ? [] : fulfill(code.value), unit)
    } else {
      // The cleanup, and the handling of errors, end before the promise settles.
      let end =
        isVoid ? effect(code.value) : split("\(result) = \(code.value)")
      let mark = ChainConverter.assignment
      let handlers = code.handlers.filter { !(isVoid && $0 == "  \(mark)()") }
        .map { $0.replacingOccurrences(of: mark, with: isVoid ? "" : "\(result) = ") }
      body = (isVoid ? [] : ["let \(result): \(type)"])
      body += guarded(work(code, end, unit), handlers, unit)
      body += fulfill(isVoid ? "()" : result)
    }
    if !code.recovers, !code.handlers.isEmpty {
      body = guarded(body, code.handlers, unit)
    }
    body = body.map {
      $0.replacingOccurrences(of: ChainConverter.fulfillment, with: "\(settle).fulfill")
    }
    let attempt =
      code.canFail ? guarded(body, ["catch {", "  \(settle).reject(error)", "}"], unit) : body
    let inner = [task(code, converter)] + indented(attempt, unit) + ["}"]
    if isGoogle {
      return sourceLine(code) + ["let \(settle) = Promise<\(type)>.pending()"] + inner
        + ["return \(settle)"]
    }
    return ["return Promise { \(settle) in"] + indented(sourceLine(code) + inner, unit) + ["}"]
  }

  /// The type of the value of the promise that a function returns.
  private func valueType(_ function: FunctionDeclaration) -> String {
    let text = function.returns
    guard let open = text.firstIndex(of: "<"), text.hasSuffix(">") else { return "" }
    return String(text[text.index(after: open)..<text.index(before: text.endIndex)])
  }

  /// A comment that names the decision, unless there is one.
  private func mark(_ chain: Chain, _ failure: ConversionFailure) -> FilePlan.Edit? {
    guard let item = statement(chain) else { return nil }
    let file = chain.function.file
    let offset = item.positionAfterSkippingLeadingTrivia.utf8Offset
    let position = file.position(at: offset)
    let line = file.line(position.line)
    let indentation = line.prefix { $0 == " " || $0 == "\t" }
    // Above the line, whatever the chain comes after, unless that is a part of a text.
    let start = offset - (position.column - 1) + indentation.utf8.count
    let token = file.syntax.token(at: AbsolutePosition(utf8Offset: start))
    if let token, case .stringSegment = token.tokenKind { return nil }
    if [line, file.line(position.line - 1)].contains(where: { $0.contains("TODO(pledge-migrate)") })
    {
      return nil
    }
    if item.leadingTrivia.description.contains("TODO(pledge-migrate)") { return nil }
    let decision = failure.decision
    let name = decision.isAboutOperator ? failure.name.map { "`\($0)`: " } ?? "" : ""
    let text =
      "// TODO(pledge-migrate): \(decision.rawValue): \(name)\(decision.question)\n\(indentation)"
    return FilePlan.Edit(range: start..<start, text: text)
  }
}

extension SyntaxProtocol {
  fileprivate func isInside(_ other: some SyntaxProtocol) -> Bool {
    other.position <= position && endPosition <= other.endPosition && root.id == other.root.id
  }
}
