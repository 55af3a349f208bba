import Foundation
import Testing

// The plugin `CompileExamples` compiles the examples of the README and the articles with this target.
// These tests find those that stand elsewhere.

@Suite struct Articles {
  /// An example that is marked as `elsewhere`, and those in the README of Examples, stand in a program
  /// of Examples.
  @Test func examplesFromElsewhere_standThereInTheSameWords() throws {
    let sources = try Self.code(in: "Examples/Sources")
    let marked = try Self.pages.flatMap { page in
      try Self.examples(after: "<!-- example, elsewhere -->\n```swift\n", in: Self.text(of: page))
    }
    let programs = Self.examples(after: "```swift\n", in: try Self.text(of: "Examples/README.md"))
    #expect(marked.count >= 2 && programs.count >= 5)
    for example in marked + programs where !sources.contains(Self.normalized(example)) {
      Issue.record("No program in Examples has this example:\n\(example)")
    }
  }

  /// Code in a column "Write" is part of a line of `Recommendations.swift` or of an example.
  @Test func recommendations_areCompiled() throws {
    let sources = try Self.text(of: "Tests/DocumentationTests/Recommendations.swift")
    let examples = try Self.pages.flatMap { page in
      Self.examples(after: "```swift\n", in: try Self.text(of: page))
    }.joined(separator: "\n")
    let recommendations = try Self.pages.flatMap { page in
      Self.recommendations(in: try Self.text(of: page))
    }
    #expect(recommendations.count >= 50)
    for code in recommendations where !sources.contains(code) && !examples.contains(code) {
      Issue.record("Recommendations.swift lacks this code: \(code)")
    }
  }

  @Test func programsInExamples_areShort() throws {
    let folder = Self.root + "Examples/Sources/"
    let programs = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(programs.count >= 6)
    for program in programs {
      let files = try FileManager.default.contentsOfDirectory(atPath: folder + program)
      #expect(files.count <= 2, "\(program) has \(files.count) files.")
      for file in files {
        let lines = try Self.text(of: "Examples/Sources/\(program)/\(file)").split(
          separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 151, "\(program)/\(file) has \(lines.count - 1) lines.")
      }
    }
  }

  private static let root =
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path + "/"

  /// The articles of all modules.
  private static var pages: [String] {
    get throws { try files(in: "Sources").filter { $0.hasSuffix(".md") } }
  }

  private static func files(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root + folder).sorted()
      .map { "\(folder)/\($0)" }
  }

  private static func text(of file: String) throws -> String {
    try String(contentsOfFile: root + file, encoding: .utf8)
  }

  /// The text of all Swift files of a folder, in normal form.
  private static func code(in folder: String) throws -> String {
    try files(in: folder).filter { $0.hasSuffix(".swift") }
      .map { normalized(try text(of: $0)) }.joined()
  }

  /// The examples that begin with `opening`.
  private static func examples(after opening: String, in page: String) -> [String] {
    page.components(separatedBy: opening).dropFirst().map { rest in
      rest.components(separatedBy: "\n```").first ?? ""
    }
  }

  /// The code in the second column of tables whose header is "Instead of", "Write", "Because".
  private static func recommendations(in page: String) -> [String] {
    page.components(separatedBy: "| Instead of | Write | Because |\n").dropFirst().flatMap { rest in
      rest.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        .prefix { line in line.hasPrefix("| ") }
        .flatMap { row in
          let column = row.components(separatedBy: " | ")[1].components(separatedBy: "`")
          return column.indices.filter { $0 % 2 == 1 }.map { column[$0] }
        }
    }
  }

  /// The lines without their indentation, and without blank ones and imports.
  private static func normalized(_ code: String) -> String {
    code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
      .map { $0 + "\n" }.joined()
  }
}
