import Foundation
import MigrateKit
import Testing

/// A tree with one file.
func tree(_ text: String) -> SourceTree { SourceTree(contents: [("File.swift", text)]) }

/// The findings for two versions of a file.
func findings(_ before: String, _ after: String) -> [Finding] {
  Checker(old: tree(before), new: tree(after)).run()
}

/// The findings that are more than notes.
func serious(_ before: String, _ after: String) -> [Finding] { serious(tree(before), after) }

/// The same for a version that many tests share, and that is parsed once.
func serious(_ before: SourceTree, _ after: String) -> [Finding] {
  Checker(old: before, new: tree(after)).run().filter { $0.severity > .note }
}

extension [Finding] {
  var summary: String {
    map { "\($0.new?.line ?? 0): \($0.rule.rawValue): \($0.message)" }.joined(separator: "\n")
  }
}

/// A folder with files, which is removed at the end.
final class Folder {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

  init(_ files: [String: String]) throws {
    for (name, text) in files { try write(text, to: name) }
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func write(_ text: String, to name: String) throws {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  func read(_ name: String) throws -> String {
    try String(contentsOf: url.appendingPathComponent(name), encoding: .utf8)
  }

  /// The contents of a file, byte for byte.
  func bytes(_ name: String) throws -> Data {
    try Data(contentsOf: url.appendingPathComponent(name))
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Runs git, and fails if it does.
  func git(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["git", "-C", url.path, "-c", "user.name=Test", "-c", "user.email=test@example.com"]
      + arguments
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "git \(arguments)")
  }
}
