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
    try file.write("two", at: 4)
    try file.write("one ", at: 0)
    try file.commit()
    #expect(file.destination == folder.file("a b.txt"))
    #expect(try folder.names == ["a b.txt"])
    #expect(try text("a b.txt") == "one two")
  }

  @Test func commit_whenFinalNameExists_replacesTheFile() throws {
    try Data("old and longer".utf8).write(to: folder.file("a"))
    let file = try PartialFile(for: "a", in: folder.url)
    try file.write("new", at: 0)
    try file.commit()
    #expect(try text("a") == "new")
  }

  @Test func commit_whenFinalNameIsAFolder_failsAndKeepsThePartialFile() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try FileManager.default.createDirectory(
      at: folder.file("a"), withIntermediateDirectories: false)
    let failure = #expect(throws: FileFailure.self) { try file.commit() }
    #expect(failure?.operation == .rename)
    #expect(try folder.names == ["a", "a.part"])
    file.discard()
    #expect(try folder.names == ["a"])
  }

  @Test func discard_leavesNothing() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.write("x", at: 0)
    file.discard()
    file.discard()
    #expect(try folder.names.isEmpty)
  }

  @Test func deinit_withoutCommit_leavesNothing() throws {
    do {
      let file = try PartialFile(for: "a", in: folder.url)
      try file.write("x", at: 0)
    }
    #expect(try folder.names.isEmpty)
  }

  @Test func discard_afterCommit_keepsTheFile() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.commit()
    file.discard()
    #expect(try folder.names == ["a"])
  }

  @Test func write_afterTheEnd_fails() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.commit()
    let failure = #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
    #expect(failure?.code == EBADF)
    #expect(try text("a") == "")
    #expect(throws: FileFailure.self) { try file.commit() }
  }

  @Test func init_whenAnotherDownloadWritesTheFile_fails() throws {
    let file = try PartialFile(for: "a", in: folder.url)
    try file.write("mine", at: 0)
    let failure = #expect(throws: FileFailure.self) { try PartialFile(for: "a", in: folder.url) }
    #expect(failure?.operation == .lock)
    #expect(failure?.description.contains("another download") == true)
    try file.commit()
    #expect(try text("a") == "mine")
  }

  @Test func init_afterAnInterruptedDownloadWithoutRecord_startsOver() throws {
    try Data("left over".utf8).write(to: folder.file("a.part"))
    let file = try PartialFile(for: "a", in: folder.url)
    try file.write("new", at: 0)
    try file.commit()
    #expect(try text("a") == "new")
  }

  @Test func close_withASavedState_keepsWhatALaterRunGoesOnFrom() throws {
    var state = ResumeState()
    state.size = 10
    state.segments = [Segment(start: 0, end: 10)]
    state.segments[0].position = 4
    do {
      let file = try PartialFile(for: "a", in: folder.url)
      #expect(file.leftover == nil)
      try file.write("four", at: 0)
      try file.save(state)
      #expect(file.close())
    }
    #expect(try folder.names == ["a.part", "a.part.json"])
    let file = try PartialFile(for: "a", in: folder.url)
    #expect(file.leftover == state)
    try file.write(" more.", at: 4)
    try file.commit()
    #expect(try text("a") == "four more.")
    #expect(try folder.names == ["a"])
  }

  @Test func save_ofAShorterState_isReadAgain() throws {
    var state = ResumeState()
    state.validator = Validator(
      entityTag: "\"\(String(repeating: "x", count: 100))\"", lastModified: nil)
    let file = try PartialFile(for: "a", in: folder.url)
    try file.save(state)
    state.validator = nil
    try file.save(state)
    file.close()
    #expect(try PartialFile(for: "a", in: folder.url).leftover == state)
  }

  @Test(arguments: [
    "", "{", #"{"provided":0,"segments":[]}"#,
    #"{"provided":0,"segments":[{"start":0,"position":9,"end":10}]}"#,
    #"{"provided":0,"segments":[{"start":5,"position":1,"end":10}]}"#,
    #"{"provided":0,"segments":[{"start":2,"position":4,"end":10}]}"#,
    #"{"provided":0,"segments":[{"start":0,"position":4,"end":-1}]}"#,
    #"{"provided":0,"segments":[{"start":0,"position":4},{"start":10,"position":10}]}"#,
    #"{"provided":0,"segments":[{"start":0,"position":2,"end":4},{"start":3,"position":3,"end":9}]}"#,
    #"{"provided":0,"size":10,"segments":[{"start":0,"position":4,"end":99}]}"#,
    #"{"provided":5,"segments":[{"start":0,"position":4,"end":10}]}"#,
    #"{"provided":-1,"segments":[{"start":0,"position":4,"end":10}]}"#,
    #"{"segments":[{"start":0,"position":4,"end":10}]}"#,
  ])
  func init_whenTheRecordDoesNotMatchTheFile_startsOver(state: String) throws {
    try Data("four".utf8).write(to: folder.file("a.part"))
    try Data(state.utf8).write(to: folder.file("a.part.json"))
    let file = try PartialFile(for: "a", in: folder.url)
    #expect(file.leftover == nil)
    try file.commit()
    #expect(try text("a") == "")
    #expect(try folder.names == ["a"])
  }

  @Test func init_continuing_copiesTheFile() throws {
    try Data("four".utf8).write(to: folder.file("a"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    #expect(file.leftover == ResumeState(provided: 4))
    #expect(try folder.names == ["a", "a.part"])
    try file.write("!", at: 4)
    #expect(try text("a") == "four")
    try file.commit()
    #expect(try text("a") == "four!")
    #expect(try folder.names == ["a"])
  }

  @Test func init_continuing_whenAPartialFileHasNoRecord_copiesTheFile() throws {
    try Data("four".utf8).write(to: folder.file("a"))
    try Data("of a killed run".utf8).write(to: folder.file("a.part"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    #expect(file.leftover == ResumeState(provided: 4))
    #expect(try text("a.part") == "four")
  }

  /// Leaves the partial file of a run that has added a byte to `a`, and was killed after another.
  private func leaveContinuedFile() throws {
    try Data("four".utf8).write(to: folder.file("a"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    try file.write("!?", at: 4)
    var state = ResumeState(provided: 4)
    state.segments[0].position = 5
    try file.save(state)
    #expect(file.close())
    #expect(try folder.names == ["a", "a.part", "a.part.json"])
  }

  @Test func init_continuingAgain_continuesAtTheRecordedPosition() throws {
    try leaveContinuedFile()
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    #expect(file.leftover?.provided == 4)
    #expect(file.leftover?.received == 5)
    #expect(try text("a.part") == "four!", "bytes beyond the record are removed")
    #expect(file.close())
    #expect(try text("a") == "four")
  }

  @Test(arguments: ["five", "fours", "fou"])
  func init_continuingAgain_whenTheFileHasChanged_copiesIt(text changed: String) throws {
    try leaveContinuedFile()
    try Data(changed.utf8).write(to: folder.file("a"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    #expect(file.leftover == ResumeState(provided: changed.utf8.count))
    #expect(try text("a.part") == changed)
    #expect(!file.close())
    #expect(try text("a") == changed)
  }

  @Test func init_withoutContinuing_discardsTheCopy() throws {
    try leaveContinuedFile()
    let file = try PartialFile(for: "a", in: folder.url)
    #expect(file.leftover == nil)
    #expect(try text("a.part") == "")
    #expect(!file.close())
    #expect(try folder.names == ["a"])
    #expect(try text("a") == "four")
  }

  @Test(arguments: [true, false])
  func init_withARecordButNoBytes_ignoresTheRecord(continuing: Bool) throws {
    try Data("four".utf8).write(to: folder.file("a"))
    let record = try JSONEncoder().encode(ResumeState(provided: 3))
    try record.write(to: folder.file("a.part.json"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: continuing)
    #expect(file.leftover == (continuing ? ResumeState(provided: 4) : nil))
    file.close()
    #expect(try folder.names == ["a"])
    #expect(try text("a") == "four")
  }

  /// For example, because too many files are open: the record can describe many bytes.
  @Test(arguments: [true, false])
  func init_whenTheRecordCannotBeRead_leavesTheBytes(continuing: Bool) throws {
    try Data("four".utf8).write(to: folder.file("a"))
    try Data("four!".utf8).write(to: folder.file("a.part"))
    try FileManager.default.createDirectory(
      at: folder.file("a.part.json"), withIntermediateDirectories: false)
    #expect(throws: FileFailure.self) {
      try PartialFile(for: "a", in: folder.url, continuing: continuing)
    }
    #expect(try folder.names == ["a", "a.part", "a.part.json"])
    #expect(try text("a.part") == "four!")
  }

  @Test func restart_continuing_keepsTheFileOfTheUser() throws {
    try Data("four".utf8).write(to: folder.file("a"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    try file.write("!", at: 4)
    try file.restart()
    #expect(!file.close())
    #expect(try folder.names == ["a"])
    #expect(try text("a") == "four")
  }

  @Test func close_withoutProgress_keepsWhatAnEarlierRunHasLeft() throws {
    var state = ResumeState()
    state.segments = [Segment(start: 0, end: 10)]
    state.segments[0].position = 4
    do {
      let file = try PartialFile(for: "a", in: folder.url)
      try file.write("four", at: 0)
      try file.save(state)
      file.close()
    }
    // A second run that receives nothing, and a third one.
    #expect(try PartialFile(for: "a", in: folder.url).close())
    let file = try PartialFile(for: "a", in: folder.url)
    #expect(file.leftover == state)
    file.close()
  }

  @Test func commit_keepsThePermissionsOfTheFileThatIsReplaced() throws {
    let path = folder.file("a").path(percentEncoded: false)
    try Data("old".utf8).write(to: folder.file("a"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    try PartialFile(for: "a", in: folder.url).commit()
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  @Test func init_whileACompletedFileIsStillLocked_createsAnotherFile() throws {
    let first = try PartialFile(for: "a", in: folder.url)
    try first.write("first", at: 0)
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

  @Test func close_savesTheLatestState() throws {
    var state = ResumeState()
    state.size = 10
    state.segments = [Segment(start: 0, end: 10)]
    do {
      let file = try PartialFile(for: "a", in: folder.url)
      try file.write("abc", at: 0)
      state.segments[0].position = 3
      file.keep(state)
      #expect(file.close())
    }
    let next = try PartialFile(for: "a", in: folder.url)
    #expect(next.leftover == state)
    try next.restart()
    next.close()
    #expect(try folder.names.isEmpty)
  }

  @Test func init_whenTheNameIsAFolder_saysSo() throws {
    try FileManager.default.createDirectory(
      at: folder.file("a"), withIntermediateDirectories: false)
    for continuing in [false, true] {
      let failure = #expect(throws: FileFailure.self) {
        try PartialFile(for: "a", in: folder.url, continuing: continuing)
      }
      #expect(failure?.code == EISDIR)
    }
    #expect(try folder.names == ["a"])
  }

  @Test func init_continuing_keepsWhatIsNoRegularFile() throws {
    try Data("precious".utf8).write(to: folder.file("target"))
    try FileManager.default.createSymbolicLink(
      at: folder.file("a"), withDestinationURL: folder.file("target"))
    let file = try PartialFile(for: "a", in: folder.url, continuing: true)
    #expect(file.leftover == nil)
    file.discard()
    #expect(try folder.names == ["a", "target"])
    #expect(try text("target") == "precious")
  }

  @Test func init_whenThePartialNameIsAFIFO_fails() throws {
    #expect(mkfifo(folder.file("a.part").path(percentEncoded: false), 0o600) == 0)
    // Once without and once with a reader.
    #expect(throws: FileFailure.self) { try PartialFile(for: "a", in: folder.url) }
    let reader = open(folder.file("a.part").path(percentEncoded: false), O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    #expect(throws: FileFailure.self) { try PartialFile(for: "a", in: folder.url) }
  }

  @Test func isPartialName_isTrueForPartialNamesAlone() {
    #expect(PartialFile.isPartialName(PartialFile.partialName(for: "a")))
    #expect(PartialFile.isPartialName("a.part.json"))
    #expect(!PartialFile.isPartialName("a.parts"))
    #expect(!PartialFile.isPartialName("part"))
  }
}

extension PartialFile {
  func write(_ text: String, at position: Int) throws {
    try Data(text.utf8).withUnsafeBytes { try write($0, at: position) }
  }
}
