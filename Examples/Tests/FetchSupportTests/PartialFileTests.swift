import Foundation
import Testing

@testable import FetchSupport

@Suite struct PartialFileTests {
  private let folder: ScratchFolder

  init() throws {
    folder = try ScratchFolder()
  }

  private func text(_ name: String) throws -> String {
    try String(contentsOf: folder.file(name), encoding: .utf8)
  }

  @Test func commit_givesTheFileItsFinalName() throws {
    let file = try PartialFile(for: "a b.txt", in: folder.url)
    #expect(try folder.names == ["a b.txt.part"])
    try file.append(Data("one ".utf8))
    try file.append(Data("two".utf8))
    #expect(file.byteCount == 7)
    #expect(try file.commit() == folder.file("a b.txt"))
    #expect(try folder.names == ["a b.txt"])
    #expect(try text("a b.txt") == "one two")
  }

  @Test func commit_whenFinalNameExists_replacesTheFile() throws {
    try Data("old and longer".utf8).write(to: folder.file("a"))
    let file = try PartialFile(for: "a", in: folder.url)
    try file.append(Data("new".utf8))
    try file.commit()
    #expect(try text("a") == "new")
  }

  @Test func commit_whenFinalNameIsAFolder_failsAndKeepsThePartialFile() throws {
    try FileManager.default.createDirectory(
      at: folder.file("a"), withIntermediateDirectories: false)
    let file = try PartialFile(for: "a", in: folder.url)
    let failure = #expect(throws: FileFailure.self) { try file.commit() }
    #expect(failure?.operation == .rename)
    #expect(try folder.names == ["a", "a.part"])
    file.discard()
    #expect(try folder.names == ["a"])
  }

  @Test func discard_leavesNothing() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.append(Data("x".utf8))
    file.discard()
    file.discard()
    #expect(try folder.names.isEmpty)
  }

  @Test func deinit_withoutCommit_leavesNothing() throws {
    do {
      let file = try PartialFile(for: "a", in: folder.url)
      try file.append(Data("x".utf8))
    }
    #expect(try folder.names.isEmpty)
  }

  @Test func discard_afterCommit_keepsTheFile() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.commit()
    file.discard()
    #expect(try folder.names == ["a"])
  }

  @Test func append_afterTheEnd_fails() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.commit()
    let failure = #expect(throws: FileFailure.self) { try file.append(Data("x".utf8)) }
    #expect(failure?.code == EBADF)
    #expect(try text("a") == "")
    #expect(throws: FileFailure.self) { try file.commit() }
  }

  @Test func init_whenAnotherDownloadWritesTheFile_fails() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.append(Data("mine".utf8))
    let failure = #expect(throws: FileFailure.self) { try PartialFile(for: "a", in: folder.url) }
    #expect(failure?.operation == .lock)
    #expect(failure?.description.contains("another download") == true)
    try file.commit()
    #expect(try text("a") == "mine")
  }

  @Test func init_withAnotherCopyNumber_makesAnotherFile() throws {
    let first = try PartialFile(for: "a", in: folder.url)
    let second = try PartialFile(for: "a", in: folder.url, copy: 2)
    #expect(try folder.names == ["a.part", "a.part2"])
    try second.append(Data("2".utf8))
    try second.commit()
    first.discard()
    #expect(try folder.names == ["a"])
    #expect(try text("a") == "2")
  }

  @Test func init_whenABrokenOffDownloadIsThere_startsAnew() throws {
    try Data("left over".utf8).write(to: folder.file("a.part"))
    let file = try PartialFile(for: "a", in: folder.url)
    try file.append(Data("new".utf8))
    try file.commit()
    #expect(try text("a") == "new")
  }

  @Test func init_whenAFinishedFileKeepsItsLockedDescriptor_startsANewOne() throws {
    let first = try PartialFile(for: "a", in: folder.url)
    try first.append(Data("first".utf8))
    try first.commit()
    let second = try PartialFile(for: "a", in: folder.url)
    #expect(try text("a") == "first")
    second.discard()
  }

  @Test func init_whenThePartialNameIsALink_leavesItsTargetAlone() throws {
    try Data("precious".utf8).write(to: folder.file("target"))
    try FileManager.default.createSymbolicLink(
      at: folder.file("a.part"), withDestinationURL: folder.file("target"))
    let failure = #expect(throws: FileFailure.self) { try PartialFile(for: "a", in: folder.url) }
    #expect(failure?.operation == .open)
    #expect(try text("target") == "precious")
  }

  @Test func init_whenTheFolderIsMissing_saysSo() throws {
    let failure = #expect(throws: FileFailure.self) {
      try PartialFile(for: "a", in: folder.file("missing"))
    }
    #expect(failure?.code == ENOENT)
    #expect(failure?.description.contains("missing/a.part") == true)
  }

  @Test func isPartialName_isTrueForPartialNamesAlone() {
    #expect(PartialFile.isPartialName(PartialFile.partialName(for: "a")))
    #expect(PartialFile.isPartialName(PartialFile.partialName(for: "a", copy: 12)))
    #expect(!PartialFile.isPartialName("a.parts"))
    #expect(!PartialFile.isPartialName("part"))
  }
}
