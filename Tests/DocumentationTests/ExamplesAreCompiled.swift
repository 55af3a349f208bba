import Foundation
import Testing

// This target, one of the programs in Examples, or a file called `…Article.swift` next to the tests of an
// integration contains every example of the README and the articles verbatim, so all of them compile.

@Suite struct ExamplesAreCompiled {
  @Test(arguments: pages)
  func everyExample_standsInThisTargetInTheSameWords(page: String) throws {
    let sources = try Self.sources.get()
    let examples = Self.examples(in: try Self.text(of: page))
    for example in examples where !sources.contains(Self.normalized(example)) {
      Issue.record("\(page) has an example that Tests/DocumentationTests lacks:\n\(example)")
    }
  }

  /// Code in a column "Write" is part of a line of this target.
  @Test(arguments: pages)
  func everyRecommendation_standsInThisTarget(page: String) throws {
    let sources = try Self.sources.get()
    for code in Self.recommendations(in: try Self.text(of: page)) where !sources.contains(code) {
      Issue.record("\(page) recommends code that Tests/DocumentationTests lacks: \(code)")
    }
  }

  @Test func thereAreExamples() throws {
    let count = try Self.pages.map { Self.examples(in: try Self.text(of: $0)).count }.reduce(0, +)
    #expect(count >= 100)
    let recommendations = try Self.pages.flatMap { Self.recommendations(in: try Self.text(of: $0)) }
    #expect(recommendations.count >= 50)
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

  private static let catalogs = [
    "Sources/Pledge/Pledge.docc", "Sources/PledgeDiagnostics/PledgeDiagnostics.docc",
    "Sources/PledgeFoundation/PledgeFoundation.docc",
    "Sources/PledgeTesting/PledgeTesting.docc",
    "Sources/PledgeTestingTraits/PledgeTestingTraits.docc",
  ]

  private static var pages: [String] {
    ["README.md", "CONTRIBUTING.md", "Documentation/AssistantGuide.md", "Examples/README.md"]
      + catalogs.flatMap { catalog in
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: root + catalog)) ?? []
        return files.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalog)/\($0)" }
      }
  }

  private static var root: String {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path + "/"
  }

  private static func text(of page: String) throws -> String {
    try String(contentsOfFile: root + page, encoding: .utf8)
  }

  /// The blocks between "```swift" and "```".
  private static func examples(in page: String) -> [String] {
    page.components(separatedBy: "```swift\n").dropFirst().map { rest in
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

  /// All of this target and of the programs in Examples, in normal form.
  private static let sources = Result { try readSources() }

  private static func readSources() throws -> String {
    try [
      ("Tests/DocumentationTests", ".swift"), ("Tests", "Article.swift"),
      ("Examples/Sources", ".swift"),
    ].flatMap { folder, suffix in
      try FileManager.default.subpathsOfDirectory(atPath: root + folder)
        .filter { $0.hasSuffix(suffix) }.sorted()
        .map { normalized(try text(of: "\(folder)/\($0)")) }
    }
    .joined()
  }

  /// The lines without their indentation, and without blank ones and imports.
  private static func normalized(_ code: String) -> String {
    code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
      .map { $0 + "\n" }.joined()
  }
}
