import Foundation
import SwiftOperators
import SwiftParser
import SwiftParserDiagnostics
import SwiftSyntax

// `@unchecked Sendable`: all stored properties are immutable; syntax trees are never mutated.
/// A parsed Swift file.
public final class SourceFile: @unchecked Sendable {
  /// The path, relative to the tree to which the file belongs.
  public let path: String
  /// The text, without a byte order mark, and with line feeds as ends of lines.
  public let text: String
  /// The syntax tree as parsed: rewriting starts here, so that nothing else changes.
  public let syntax: SourceFileSyntax
  /// The names of the imported modules.
  public let imports: Set<String>
  /// The byte offsets at which lines start.
  private let lineStarts: [Int]

  /// Parses `text`.
  public init(path: String, text: String) {
    self.path = path
    self.text = text
    let parsed = Parser.parse(source: text)
    // An operator that no file declares has no precedence; the expression then stays flat.
    let folded = OperatorTable.standardOperators.foldAll(parsed) { _ in }
    syntax = folded.as(SourceFileSyntax.self) ?? parsed
    imports = Set(
      parsed.statements.compactMap { statement in
        statement.item.as(ImportDeclSyntax.self)?.path.last?.name.text
      })
    var starts = [0]
    for (offset, byte) in text.utf8.enumerated() where byte == UInt8(ascii: "\n") {
      starts.append(offset + 1)
    }
    lineStarts = starts
  }

  /// The line and column, both from 1, of a byte offset.
  public func position(at offset: Int) -> (line: Int, column: Int) {
    var low = 0
    var high = lineStarts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    return (low + 1, offset - lineStarts[low] + 1)
  }

  /// The names of the classes, structs, and protocols that the file declares at its top level.
  var declaredTypes: Set<String> {
    Set(
      syntax.statements.compactMap { statement in
        let item = statement.item
        return item.as(ClassDeclSyntax.self)?.name.text ?? item.as(StructDeclSyntax.self)?.name.text
          ?? item.as(ProtocolDeclSyntax.self)?.name.text
      })
  }

  /// Whether the file belongs to tests, whose effects users don't see.
  var isTest: Bool {
    !imports.isDisjoint(with: ["XCTest", "Testing", "Quick", "Nimble"])
      || path.split(separator: "/").dropLast().contains { $0.hasSuffix("Tests") }
  }

  /// The number of lines.
  public var lineCount: Int { lineStarts.count }

  /// The text of a line, counted from 1.
  public func line(_ number: Int) -> Substring {
    guard number >= 1, number <= lineStarts.count else { return "" }
    let bytes = text.utf8
    let start = bytes.index(bytes.startIndex, offsetBy: lineStarts[number - 1])
    let end =
      number < lineStarts.count
      ? bytes.index(bytes.startIndex, offsetBy: lineStarts[number] - 1) : bytes.endIndex
    return text[start..<end]
  }
}

/// A reason why a file can't be read or rewritten.
public struct FileProblem: Sendable {
  /// The file, relative to its tree.
  public var path: String
  /// The line, or 0 for the file as a whole.
  public var line: Int
  /// What is wrong, and what to do.
  public var message: String
}

extension SourceFile {
  /// The syntax errors and conflict markers of this file: with one of them, facts can be wrong.
  public var problems: [FileProblem] {
    for number in stride(from: 1, through: lineCount, by: 1) {
      let line = line(number)
      if line.hasPrefix("<<<<<<< ") || line.hasPrefix(">>>>>>> ") {
        return [
          FileProblem(
            path: path, line: number,
            message: "This line is the marker of a merge conflict. Resolve the conflict first.")
        ]
      }
    }
    guard syntax.hasError else { return [] }
    let found = ParseDiagnosticsGenerator.diagnostics(for: syntax)
      // In the language mode of Swift 5, the compiler accepts `@available (macOS 13, *)`.
      .filter {
        $0.diagMessage.severity == .error
          && !$0.message.hasPrefix("extraneous whitespace before '('")
      }
    return found.prefix(1).map { diagnostic in
      FileProblem(
        path: path, line: position(at: diagnostic.position.utf8Offset).line,
        message: "The file doesn't parse: \(diagnostic.message). Correct it first.")
    }
  }
}

/// A place in a file.
public struct Place: Sendable {
  /// The file.
  public let file: SourceFile
  /// The byte offset.
  public let offset: Int

  /// The line, from 1.
  public var line: Int { file.position(at: offset).line }
  /// The column, from 1.
  public var column: Int { file.position(at: offset).column }
  /// The path and the line, as compilers print them.
  public var description: String { "\(file.path):\(line)" }
}
