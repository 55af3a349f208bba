import Foundation
import MigrateKit
import Testing

// One conversion is verified at a time: signals are sent to the whole process.
@Suite(.serialized) struct FilesTests {
  private func screen() throws -> Folder { try Folder(["Screen.swift": RewriteTests.screen]) }

  @Test func write_whenCommandSucceeds_keepsConversion() throws {
    let folder = try screen()
    let rewrite = try TreeRewrite(try SourceTree(path: folder.url.path))
    try rewrite.write(to: folder.url.path, verifiedBy: "echo run >> '\(folder.path("runs"))'")
    #expect(try folder.read("Screen.swift").contains("Task { @MainActor in"))
    #expect(try folder.read("runs") == "run\nrun\n")
  }

  @Test func write_whenCommandFailsAfterward_restoresFiles() throws {
    let folder = try screen()
    let rewrite = try TreeRewrite(try SourceTree(path: folder.url.path))
    let file = folder.path("Screen.swift")
    let error = #expect(throws: MigrateError.self) {
      try rewrite.write(to: folder.url.path, verifiedBy: "! grep -q MainActor '\(file)'")
    }
    #expect(error?.description.contains("undone") == true)
    #expect(try folder.read("Screen.swift") == RewriteTests.screen)
  }

  @Test(arguments: ["INT", "TERM", "HUP"])
  func write_whenInterruptedAfterward_endsCommandAndRestoresFiles(signal: String) throws {
    let folder = try screen()
    let rewrite = try TreeRewrite(try SourceTree(path: folder.url.path))
    let file = folder.path("Screen.swift")
    // The second run interrupts this process, and then never ends by itself.
    let command =
      "if grep -q MainActor '\(file)'; then kill -\(signal) $PPID; exec tail -f /dev/null; fi"
    let error = #expect(throws: MigrateError.self) {
      try rewrite.write(to: folder.url.path, verifiedBy: command)
    }
    #expect(error?.description.contains("interrupted") == true, "\(error?.description ?? "")")
    #expect(try folder.read("Screen.swift") == RewriteTests.screen)
  }

  @Test func write_whenCommandFailsBefore_writesNothing() throws {
    let folder = try screen()
    let rewrite = try TreeRewrite(try SourceTree(path: folder.url.path))
    let error = #expect(throws: MigrateError.self) {
      try rewrite.write(to: folder.url.path, verifiedBy: "exit 3")
    }
    #expect(error?.description.contains("Nothing was written") == true)
    #expect(try folder.read("Screen.swift") == RewriteTests.screen)
  }

  @Test func tree_whenRevisionIsComparedWithFolder_hasFilesOfThatFolder() throws {
    let folder = try Folder([
      "App/Sources/Store.swift": CheckTests.before, "Other/Else.swift": "func other() {}",
      "App/Package.swift": "// .defaultIsolation(MainActor.self)",
      "Other/Package.swift": "// NonisolatedNonsendingByDefault",
    ])
    try folder.git("init", "--quiet")
    try folder.git("add", ".")
    try folder.git("commit", "--quiet", "-m", "First")
    try folder.write(CheckTests.after(""), to: "App/Sources/Store.swift")
    for path in ["App/Sources", "App/Sources/Store.swift"] {
      let old = try SourceTree(
        revision: "HEAD", repository: folder.url.path, folder: folder.path(path))
      let new = try SourceTree(path: folder.path(path))
      #expect(old.files.map(\.path) == ["Store.swift"])
      #expect(old.files.first?.text == CheckTests.before)
      for settings in [old.settings, new.settings] {
        #expect(settings.isMainActorByDefault)
        #expect(!settings.isNonsendingByDefault)
      }
      #expect(Checker(old: old, new: new).run().isEmpty)
    }
    let all = try SourceTree(revision: "HEAD", repository: folder.url.path)
    #expect(all.files.count == 4)
  }

  @Test func tree_whenFolderIsSymbolicLink_hasFilesOfItsTarget() throws {
    let folder = try screen()
    let link = try Folder([:])
    try FileManager.default.createSymbolicLink(at: link.url, withDestinationURL: folder.url)
    #expect(try SourceTree(path: link.path("")).files.map(\.path) == ["Screen.swift"])
    #expect(try SourceTree(path: link.url.path).files.map(\.path) == ["Screen.swift"])
  }

  @Test func rewrite_whenPathIsFile_readsProgramAroundIt() throws {
    let folder = try Folder([
      "App.xcodeproj/project.pbxproj": "",
      "Start.swift": "import Promises\nfunc start() { DispatchQueue.promises = .global() }",
      "Broken.swift": "func run( {",
      "App/One.swift": "import Promises\nfunc one() {\n  load().then { print($0) }\n}",
      "App/Two.swift": "import Promises\nfunc two() { load().then(on: .main) { print($0) } }",
    ])
    for name in ["One", "Two"] {
      let (tree, root) = try SourceTree.around(folder.path("App/\(name).swift"))
      #expect(tree.focus == "App/\(name).swift")
      let rewrite = try TreeRewrite(tree)
      #expect(rewrite.convertedChains == 1)
      #expect(rewrite.changes.map(\.path) == ["App/\(name).swift"])
      try rewrite.write(to: root)
    }
    #expect(try folder.read("App/One.swift").contains("Task(on: .promises, after: source)"))
    #expect(try folder.read("App/Two.swift").contains("Task { @MainActor in"))
  }

  @Test func tree_whenVersionHasSameFile_sharesItAndNoOther() throws {
    // The last two differ in the composition of a character alone.
    let old = try Folder(["Same.swift": "// 1\n", "Other.swift": "// \u{E9}\n"])
    let new = try Folder(["Same.swift": "// 1\n", "Other.swift": "// e\u{301}\n"])
    let before = try SourceTree(path: old.url.path)
    let after = try SourceTree(path: new.url.path, sharing: before)
    #expect(before.files.map(\.path) == ["Other.swift", "Same.swift"])
    #expect(after.files[0] !== before.files[0])
    #expect(after.files[0].text.utf8.elementsEqual("// e\u{301}\n".utf8))
    #expect(after.files[1] === before.files[1])
  }

  @Test func tree_whenRevisionIsUnknown_saysSo() throws {
    let folder = try screen()
    try folder.git("init", "--quiet")
    let error = #expect(throws: MigrateError.self) {
      try SourceTree(revision: "nowhere", repository: folder.url.path)
    }
    #expect(error?.description.contains("nowhere") == true)
  }
}
