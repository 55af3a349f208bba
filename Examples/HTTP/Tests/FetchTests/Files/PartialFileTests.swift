import Foundation
import Testing

@testable import fetch

@Suite struct PartialFileTests {
  private let folder = ScratchFolder()

  private func open(_ name: String) throws -> PartialFile {
    try PartialFile(for: name, in: folder.path(""))
  }

  /// Returns a partial file that can be written.
  private func begin(_ name: String, _ resume: ResumeState = ResumeState()) throws -> PartialFile {
    let file = try open(name)
    try file.begin(resume)
    return file
  }

  /// The state of a file of 10 bytes, of which four have arrived.
  private let four = {
    var state = ResumeState()
    state.size = 10
    state.segments = [Segment(start: 0, end: 10)]
    state.segments[0].position = 4
    return state
  }()

  /// Leaves what a run that was killed leaves after five bytes, of which four are recorded.
  private func leavePartialFile() throws {
    let file = try begin("a")
    try file.write("four?", at: 0)
    try file.save(four)
    #expect(file.close())
    #expect(try folder.names == ["a.fetch-part", "a.fetch-part.json"])
  }

  @Test func write_isForAFileThatHasBegun_untilItIsCommitted() throws {
    let file = try open("a b.txt")
    #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
    #expect(throws: FileFailure.self) { try file.commit() }
    #expect(try folder.names.isEmpty)
    try file.begin(ResumeState())
    #expect(try folder.names == ["a b.txt.fetch-part"])
    try file.write("two", at: 4)
    try file.write("one ", at: 0)
    try file.commit()
    let failure = #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
    #expect(failure?.code == EBADF)
    #expect(throws: FileFailure.self) { try file.begin(ResumeState()) }
    #expect(throws: FileFailure.self) { try file.commit() }
    file.close()
    #expect(try folder.names == ["a b.txt"] && folder.text("a b.txt") == "one two")
  }

  @Test func commit_replacesAFile_ifItMay_andKeepsItsPermissions() throws {
    try Data("old and longer".utf8).write(to: folder.file("a"))
    let manager = FileManager.default
    try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("a"))
    let file = try begin("a")
    try file.write("new", at: 0)
    let failure = #expect(throws: FileFailure.self) { try file.commit(replacing: false) }
    #expect(failure?.code == EEXIST)
    #expect(try folder.text("a") == "old and longer")
    try file.commit()
    #expect(try folder.text("a") == "new" && folder.names == ["a"])
    let permissions = try manager.attributesOfItem(atPath: folder.path("a"))[.posixPermissions]
    #expect((permissions as? NSNumber)?.intValue == 0o600)
  }

  @Test func folders_areNotReplaced() throws {
    let file = try begin("a")
    try FileManager.default.createDirectory(
      at: folder.file("a"), withIntermediateDirectories: false)
    var failure = #expect(throws: FileFailure.self) { try file.commit() }
    #expect(failure?.operation == .rename)
    #expect(try folder.names == ["a", "a.fetch-part"])
    file.close()
    failure = #expect(throws: FileFailure.self) { try open("a") }
    #expect(failure?.code == EISDIR)
    #expect(try folder.names == ["a"])
    let lost = try PartialFile(for: "a", in: folder.path("missing/"))
    failure = #expect(throws: FileFailure.self) { try lost.begin(ResumeState()) }
    #expect(failure?.code == ENOENT && failure?.path.hasSuffix("missing/a.fetch-part") == true)
  }

  @Test(arguments: [true, false])
  func file_withoutAState_leavesNothing(isClosed: Bool) throws {
    do {
      let file = try begin("a")
      try file.write("x", at: 0)
      if isClosed { #expect(!file.close() && !file.close()) }
    }
    #expect(try folder.names.isEmpty)
  }

  @Test func close_withASavedState_keepsWhatALaterRunContinues() throws {
    try leavePartialFile()
    let file = try open("a")
    #expect(file.leftover == four)
    #expect(try folder.text("a.fetch-part") == "four?", "nothing is changed yet")
    try file.begin(four)
    #expect(try folder.text("a.fetch-part") == "four", "bytes beyond the record are removed")
    try file.write(" more.", at: 4)
    try file.commit()
    #expect(try folder.text("a") == "four more." && folder.names == ["a"])
  }

  @Test func close_savesTheLatestState_evenIfItIsShorter() throws {
    var long = four
    long.validator = Validator(
      entityTag: "\"\(String(repeating: "x", count: 100))\"", lastModified: nil)
    let file = try begin("a")
    try file.write("four", at: 0)
    try file.save(long)
    file.keep(four)
    #expect(file.close())
    let next = try open("a")
    #expect(next.leftover == four)
    try next.begin(four)
    try next.restart()
    #expect(!next.close())
    #expect(try folder.names.isEmpty)
  }

  // MARK: - What an earlier run left

  @Test(arguments: [true, false])
  func runThatReceivesNothing_changesNothing(isRestarted: Bool) throws {
    try leavePartialFile()
    let file = try open("a")
    if isRestarted { try file.restart() }
    #expect(file.close(), "there is something to continue")
    #expect(try folder.text("a.fetch-part") == "four?")
    #expect(try open("a").leftover == four)
  }

  /// A process that another thread is starting has copies of all descriptors.
  @Test func close_whenTheDescriptorHasACopy_unlocksTheFile() throws {
    let file = try begin("a")
    try file.write("four", at: 0)
    try file.save(four)
    let copy = try #require(copyOfDescriptor(of: "a.fetch-part"))
    defer { close(copy) }
    #expect(file.close())
    let next = try open("a")
    try next.begin(four)
    try next.commit()
  }

  /// Duplicates the descriptor of an open file.
  private func copyOfDescriptor(of name: String) -> Int32? {
    var (named, opened) = (stat(), stat())
    guard lstat(folder.path(name), &named) == 0 else { return nil }
    return (0..<1024).first {
      fstat($0, &opened) == 0 && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }
    .map { dup($0) }
  }

  @Test func begin_withAnEmptyState_discardsWhatAnEarlierRunLeft() throws {
    try leavePartialFile()
    let file = try begin("a")
    #expect(try folder.names == ["a.fetch-part"])
    #expect(try folder.text("a.fetch-part") == "")
    #expect(!file.close())
    #expect(try folder.names.isEmpty)
  }

  @Test func begin_whenAnotherRunHasContinuedTheFile_fails() throws {
    try leavePartialFile()
    let (first, second) = (try open("a"), try open("a"))
    try first.begin(four)
    #expect(throws: FileFailure.self) { try second.begin(four) }
    try first.write(".", at: 4)
    var five = four
    five.segments[0].position = 5
    try first.save(five)
    #expect(first.close())
    let failure = #expect(throws: FileFailure.self) { try second.begin(four) }
    #expect(failure?.operation == .lock)
    #expect(try folder.text("a.fetch-part") == "four.")
    #expect(try open("a").leftover == five)
  }

  @Test func recordOfAFileThatWasCommitted_isRemoved() throws {
    try JSONEncoder().encode(four).write(to: folder.file("a.fetch-part.json"))
    let file = try open("a")
    #expect(file.leftover == nil)
    try file.begin(ResumeState())
    try file.save(four)
    try file.commit()
    #expect(try folder.names == ["a"])
  }

  /// Each of these can be left by a run that was killed, or has the name by accident.
  @Test(
    arguments: [
      ("old and longer", nil), ("old", ""), ("old", "{}"), ("four", "{"),
      ("four", #"{"segments":[]}"#),
      ("four", #"{"segments":[{"start":0,"position":9,"end":10}]}"#),
      ("four", #"{"segments":[{"start":5,"position":1,"end":10}]}"#),
      ("four", #"{"segments":[{"start":2,"position":4,"end":10}]}"#),
      ("four", #"{"segments":[{"start":0,"position":4,"end":-1}]}"#),
      ("four", #"{"segments":[{"start":0,"position":4},{"start":10,"position":10}]}"#),
      ("four", #"{"size":10,"segments":[{"start":0,"position":4,"end":99}]}"#),
    ] as [(String, String?)])
  func partialFile_withoutAValidRecord_isOverwritten(part: String, record: String?) throws {
    try Data(part.utf8).write(to: folder.file("a.fetch-part"))
    try record.map { try Data($0.utf8).write(to: folder.file("a.fetch-part.json")) }
    let file = try open("a")
    #expect(file.leftover == nil)
    try file.begin(ResumeState())
    #expect(try folder.names == ["a.fetch-part"])
    try file.write("new", at: 0)
    try file.commit()
    #expect(try folder.names == ["a"] && folder.text("a") == "new")
  }

  @Test func fileThatAnotherDownloadWrites_isAnError() throws {
    let (file, late) = (try open("a"), try open("a"))
    try file.begin(ResumeState())
    try file.write("mine", at: 0)
    try file.save(four)
    for late in [late, try open("a")] {
      let failure = #expect(throws: FileFailure.self) { try late.begin(ResumeState()) }
      #expect(failure?.operation == .lock)
      #expect(failure?.description.contains("another download") == true)
    }
    try file.commit()
    #expect(try folder.text("a") == "mine")
  }

  @Test func linkAndFIFOWithPartialNames_areLeftAlone() throws {
    try Data("precious".utf8).write(to: folder.file("target"))
    try FileManager.default.createSymbolicLink(
      at: folder.file("a.fetch-part"), withDestinationURL: folder.file("target"))
    #expect(mkfifo(folder.path("b.fetch-part"), 0o600) == 0)
    // With a reader, the FIFO can be opened for writing.
    let reader = Foundation.open(folder.path("b.fetch-part"), O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    for name in ["a", "b"] { #expect(throws: FileFailure.self) { try begin(name) } }
    #expect(try folder.text("target") == "precious")
    #expect(try folder.names == ["a.fetch-part", "b.fetch-part", "target"])
  }

  @Test func isPartialName_isTrueForPartialNamesAlone() {
    let names = ["a.fetch-part", "a.fetch-part.json", "a.fetch-parts", "a.part"]
    #expect(names.map(PartialFile.isPartialName) == [true, true, false, false])
  }
}

extension PartialFile {
  func write(_ text: String, at position: Int) throws {
    try Data(text.utf8).withUnsafeBytes { try write($0, at: position) }
  }
}
