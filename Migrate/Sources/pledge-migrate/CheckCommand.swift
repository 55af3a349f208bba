import ArgumentParser
import Foundation
import MigrateKit

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Compares two versions of a program, and reports what its users would notice.",
    discussion: """
      OLD and NEW are two folders, two Swift files, or two revisions of a git repository. To compare
      a revision with the files on disk, pass the revision and the folder or file: the revision's
      files at the same path are compared.

      Exit status: 0 if nothing is found, 1 for findings, 64 and above for errors.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, sarif }

  @Argument(help: "The old version: a folder, a file, or a revision.") var old: String
  @Argument(help: "The new version: a folder, a file, or a revision.") var new: String
  @Option(help: "The repository of the revisions.") var repository = "."
  @Option(help: "The format: text, json, or sarif.") var format = Format.text
  @Option(name: .shortAndLong, help: "The file to write; standard output by default.")
  var output: String?
  @Option(help: "The severity from which findings fail the check: note, warning, or error.")
  var failOn = Severity.warning
  @Flag(help: "Leaves out notes.") var quiet = false
  @Option(help: "A file with accepted findings.") var baseline: String?
  @Option(help: "Writes a file that accepts all findings.") var writeBaseline: String?

  func run() throws {
    let before = try version(old, other: new)
    let after = try version(new, other: old, sharing: before)
    for problem in before.problems + after.problems {
      remark("\(problem.path):\(problem.line): warning: \(problem.message)")
    }
    let all = Checker(old: before, new: after).run()
    if let writeBaseline {
      try deliver(Baseline(all).text, to: writeBaseline)
      return
    }
    let findings = all.notAccepted(by: try baseline.map { try Baseline(path: $0) })
      .filter { !quiet || $0.severity > .note }
      .byCause
    switch format {
    case .text: try deliver(text(findings), to: output)
    case .json: try deliver(FindingList(findings).json, to: output)
    case .sarif: try deliver(Sarif(findings).json, to: output)
    }
    if findings.contains(where: { $0.severity >= failOn }) { throw ExitCode(1) }
  }

  private func text(_ findings: [Finding]) -> String {
    var lines = findings.map(\.lines)
    let counts = Severity.allCases.reversed().map { severity in
      (severity, findings.filter { $0.severity == severity }.count)
    }
    let parts = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)\($0.1 == 1 ? "" : "s")" }
    lines.append(parts.isEmpty ? "No differences." : parts.joined(separator: ", ") + ".")
    return lines.joined(separator: "\n")
  }

  /// The tree that an argument names; of a revision, the part that is compared with `other`.
  private func version(
    _ text: String, other: String, sharing tree: SourceTree? = nil
  ) throws -> SourceTree {
    if FileManager.default.fileExists(atPath: text) {
      return try SourceTree(path: text, sharing: tree)
    }
    if text.contains("/"), text.hasSuffix(".swift") {
      throw MigrateError("There is no file at '\(text)'.")
    }
    let folder = FileManager.default.fileExists(atPath: other) ? other : nil
    return try SourceTree(revision: text, repository: repository, folder: folder, sharing: tree)
  }
}

extension Severity: ExpressibleByArgument {}
