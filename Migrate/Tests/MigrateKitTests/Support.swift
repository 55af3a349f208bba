import MigrateKit
import Testing

/// The findings for two versions of a file.
func findings(_ before: String, _ after: String) -> [Finding] {
  Checker(
    old: SourceTree(contents: [("File.swift", before)]),
    new: SourceTree(contents: [("File.swift", after)])
  ).run()
}

/// The findings that are more than notes.
func serious(_ before: String, _ after: String) -> [Finding] {
  findings(before, after).filter { $0.severity > .note }
}

extension [Finding] {
  var summary: String {
    map { "\($0.new?.line ?? 0): \($0.rule.rawValue): \($0.message)" }.joined(separator: "\n")
  }
}
