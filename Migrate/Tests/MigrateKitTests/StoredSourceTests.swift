import Foundation
import MigrateKit
import Testing

/// What a conversion keeps of a file besides its text.
@Suite struct StoredSourceTests {
  private static let plain = RewriteTests.screen
  private static let returns = plain.replacingOccurrences(of: "\n", with: "\r\n")

  /// Converts the files of a folder.
  private func convert(_ folder: Folder) throws {
    try TreeRewrite(try SourceTree(path: folder.url.path)).write(to: folder.url.path)
  }

  private func converted(_ text: String) throws -> String {
    let folder = try Folder(["Screen.swift": text])
    try convert(folder)
    return String(decoding: try folder.bytes("Screen.swift"), as: UTF8.self)
  }

  private func permissions(_ path: String) throws -> Int? {
    try (FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?
      .intValue
  }

  @Test func write_whenLinesEndWithCarriageReturns_convertsAsWithoutAndKeepsThem() throws {
    let expected = try converted(Self.plain)
    #expect(expected.contains("Task { @MainActor in"))
    #expect(
      Array(try converted(Self.returns).utf8)
        == Array(expected.replacingOccurrences(of: "\n", with: "\r\n").utf8))
  }

  @Test func write_whenEndingsAreMixed_changesNoLineThatStays() throws {
    let line = "import PromiseKit"
    try #require(Self.plain.contains(line + "\n"))
    let expected = try converted(Self.plain)
    let one = try converted(Self.plain.replacingOccurrences(of: line + "\n", with: line + "\r\n"))
    #expect(
      Array(one.utf8)
        == Array(expected.replacingOccurrences(of: line + "\n", with: line + "\r\n").utf8))
    let most = try converted(
      Self.returns.replacingOccurrences(of: line + "\r\n", with: line + "\n"))
    #expect(
      Array(most.utf8)
        == Array(
          expected.replacingOccurrences(of: "\n", with: "\r\n")
            .replacingOccurrences(of: line + "\r\n", with: line + "\n").utf8))
  }

  @Test func write_whenFileHasByteOrderMark_keepsIt() throws {
    let expected = [0xEF, 0xBB, 0xBF] + Array(try converted(Self.plain).utf8)
    #expect(Array(try converted("\u{FEFF}" + Self.plain).utf8) == expected)
  }

  @Test func write_whenFileHasPermissions_keepsThem() throws {
    let folder = try Folder(["Screen.swift": Self.plain])
    let path = folder.path("Screen.swift")
    try FileManager.default.setAttributes([.posixPermissions: 0o750], ofItemAtPath: path)
    try convert(folder)
    #expect(try folder.read("Screen.swift") != Self.plain)
    #expect(try permissions(path) == 0o750)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == 1)
  }

  @Test func write_whenOneFileIsReadOnly_writesNothing() throws {
    let folder = try Folder(["First.swift": Self.plain, "Screen.swift": Self.plain])
    let path = folder.path("Screen.swift")
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: path)
    let error = #expect(throws: MigrateError.self) { try convert(folder) }
    #expect(error?.description.contains("read-only") == true)
    #expect(error?.description.contains("Nothing was written") == true)
    #expect(try folder.read("First.swift") == Self.plain)
    #expect(try folder.read("Screen.swift") == Self.plain)
    #expect(try permissions(path) == 0o444)
  }

  @Test func write_whenFileIsLink_writesToItsTargetOnce() throws {
    let folder = try Folder(["Shared/Screen.swift": Self.plain, "App/Other.swift": "let one = 1"])
    let link = folder.path("App/Screen.swift")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: "../Shared/Screen.swift")
    try convert(folder)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: link) == "../Shared/Screen.swift")
    #expect(try folder.read("Shared/Screen.swift") == converted(Self.plain))
  }

  @Test func write_whenTargetOfLinkIsOutsideTree_writesNothing() throws {
    let outside = try Folder(["Screen.swift": Self.plain])
    let folder = try Folder(["First.swift": Self.plain])
    let link = folder.path("Screen.swift")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: outside.path("Screen.swift"))
    let error = #expect(throws: MigrateError.self) { try convert(folder) }
    #expect(error?.description.contains("symbolic link") == true)
    #expect(error?.description.contains("Nothing was written") == true)
    #expect(try folder.read("First.swift") == Self.plain)
    #expect(try outside.read("Screen.swift") == Self.plain)
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: link)
        == outside.path("Screen.swift"))
  }

  @Test func write_whenFileHasTwoHardLinks_writesNothing() throws {
    let outside = try Folder(["Other.swift": Self.plain])
    let folder = try Folder(["First.swift": Self.plain])
    let files = FileManager.default
    try files.linkItem(atPath: outside.path("Other.swift"), toPath: folder.path("Screen.swift"))
    let error = #expect(throws: MigrateError.self) { try convert(folder) }
    #expect(error?.description.contains("more than one hard link") == true)
    #expect(error?.description.contains("Nothing was written") == true)
    for file in [folder.path("First.swift"), folder.path("Screen.swift")] {
      #expect(files.contents(atPath: file) == Data(Self.plain.utf8))
    }
    #expect(try outside.read("Other.swift") == Self.plain)
  }

  // The last one differs in the composition of a character alone.
  @Test(arguments: [
    ("// One\n", "// Two\n"), ("", "// New\n"), ("// \u{E9}\n", "// e\u{301}\n"),
  ])
  func write_whenFileChangedSinceItWasRead_writesNothing(before: String, after: String) throws {
    let folder = try Folder(["First.swift": Self.plain, "Screen.swift": before + Self.plain])
    let rewrite = try TreeRewrite(try SourceTree(path: folder.url.path))
    try folder.write(after + Self.plain, to: "Screen.swift")
    let error = #expect(throws: MigrateError.self) { try rewrite.write(to: folder.url.path) }
    #expect(error?.description.contains("changed since it was read") == true)
    #expect(error?.description.contains("Nothing was written") == true)
    #expect(try folder.read("First.swift") == Self.plain)
    #expect(try folder.bytes("Screen.swift") == Data((after + Self.plain).utf8))
  }

  @Test func undo_whenCommandChangedFile_keepsItAndRestoresOthers() throws {
    let folder = try Folder(["First.swift": Self.returns, "Screen.swift": Self.plain])
    let rewrite = try TreeRewrite(try SourceTree(path: folder.url.path))
    let file = folder.path("Screen.swift")
    let command =
      "if grep -q MainActor '\(file)'; then printf '// edited' >> '\(file)'; exit 1; fi"
    let error = #expect(throws: MigrateError.self) {
      try rewrite.write(to: folder.url.path, verifiedBy: command)
    }
    #expect(error?.description.contains("Screen.swift' changed since") == true)
    #expect(try folder.bytes("First.swift") == Data(Self.returns.utf8))
    #expect(try folder.read("Screen.swift").hasSuffix("// edited"))
  }
}
