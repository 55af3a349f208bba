import FetchTestSupport
import Foundation
import Testing

@testable import FetchSupport

@Suite struct PartialFileTests {
  private let folder: ScratchFolder

  init() throws {
    folder = try ScratchFolder()
  }

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
    #expect(try folder.names == ["a.part", "a.part.json"])
  }

  @Test func commit_givesTheFileItsFinalName() throws {
    let file = try begin("a b.txt")
    #expect(try folder.names == ["a b.txt.part"])
    try file.write("two", at: 4)
    try file.write("one ", at: 0)
    try file.commit()
    #expect(try folder.names == ["a b.txt"])
    #expect(try folder.text("a b.txt") == "one two")
  }

  @Test func commit_whenFinalNameExists_replacesTheFile_ifItMay() throws {
    try Data("old and longer".utf8).write(to: folder.file("a"))
    let file = try begin("a")
    try file.write("new", at: 0)
    let failure = #expect(throws: FileFailure.self) { try file.commit(replacing: false) }
    #expect(failure?.code == EEXIST)
    #expect(try folder.text("a") == "old and longer")
    try file.commit()
    #expect(try folder.text("a") == "new")
    #expect(try folder.names == ["a"])
  }

  @Test func commit_whenFinalNameIsAFolder_failsAndKeepsThePartialFile() throws {
    let file = try begin("a")
    try FileManager.default.createDirectory(
      at: folder.file("a"), withIntermediateDirectories: false)
    let failure = #expect(throws: FileFailure.self) { try file.commit() }
    #expect(failure?.operation == .rename)
    #expect(try folder.names == ["a", "a.part"])
    file.close()
    #expect(try folder.names == ["a"])
  }

  @Test func close_withoutAState_leavesNothing() throws {
    let file = try begin("a")
    try file.write("x", at: 0)
    #expect(!file.close())
    #expect(!file.close())
    #expect(try folder.names.isEmpty)
  }

  @Test func deinit_withoutCommit_leavesNothing() throws {
    do {
      let file = try begin("a")
      try file.write("x", at: 0)
    }
    #expect(try folder.names.isEmpty)
  }

  @Test func write_beforeTheBeginningAndAfterTheEnd_fails() throws {
    let file = try open("a")
    #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
    #expect(throws: FileFailure.self) { try file.commit() }
    #expect(try folder.names.isEmpty)
    try file.begin(ResumeState())
    try file.commit()
    let failure = #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
    #expect(failure?.code == EBADF)
    #expect(throws: FileFailure.self) { try file.begin(ResumeState()) }
    #expect(throws: FileFailure.self) { try file.commit() }
    file.close()
    #expect(try folder.text("a") == "")
    #expect(try folder.names == ["a"])
  }

  @Test func close_withASavedState_keepsWhatALaterRunContinues() throws {
    try leavePartialFile()
    let file = try open("a")
    #expect(file.leftover == four)
    #expect(try folder.text("a.part") == "four?", "nothing is changed yet")
    try file.begin(four)
    #expect(try folder.text("a.part") == "four", "bytes beyond the record are removed")
    try file.write(" more.", at: 4)
    try file.commit()
    #expect(try folder.text("a") == "four more.")
    #expect(try folder.names == ["a"])
  }

  @Test func close_savesTheLatestState() throws {
    do {
      let file = try begin("a")
      try file.write("four", at: 0)
      file.keep(four)
      #expect(file.close())
    }
    let next = try open("a")
    #expect(next.leftover == four)
    try next.begin(four)
    try next.restart()
    #expect(!next.close())
    #expect(try folder.names.isEmpty)
  }

  @Test func save_ofAShorterState_isReadAgain() throws {
    var state = four
    state.validator = Validator(
      entityTag: "\"\(String(repeating: "x", count: 100))\"", lastModified: nil)
    let file = try begin("a")
    try file.write("four", at: 0)
    try file.save(state)
    state.validator = nil
    try file.save(state)
    file.close()
    #expect(try open("a").leftover == state)
  }

  // MARK: - What an earlier run left

  @Test(arguments: [true, false])
  func runThatReceivesNothing_changesNothing(isRestarted: Bool) throws {
    try leavePartialFile()
    let file = try open("a")
    if isRestarted { try file.restart() }
    #expect(file.close(), "there is something to continue")
    #expect(try folder.text("a.part") == "four?")
    #expect(try open("a").leftover == four)
  }

  /// A process that another thread is starting has copies of all descriptors.
  @Test func close_whenTheDescriptorHasACopy_unlocksTheFile() throws {
    let file = try begin("a")
    try file.write("four", at: 0)
    try file.save(four)
    let copy = try #require(copyOfDescriptor(of: "a.part"))
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
    #expect(try folder.names == ["a.part"])
    #expect(try folder.text("a.part") == "")
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
    #expect(try folder.text("a.part") == "four.")
    #expect(try open("a").leftover == five)
  }

  @Test func recordOfAFileThatWasCommitted_isRemoved() throws {
    try JSONEncoder().encode(four).write(to: folder.file("a.part.json"))
    let file = try open("a")
    #expect(file.leftover == nil)
    try file.begin(ResumeState())
    try file.save(four)
    try file.commit()
    #expect(try folder.names == ["a"])
  }

  // MARK: - Files of someone else's

  @Test func recordOfTheUser_isNotTouched() throws {
    try Data("mine".utf8).write(to: folder.file("a.part.json"))
    let file = try begin("a")
    try file.write("four", at: 0)
    try file.save(four)
    #expect(!file.close(), "it can't be resumed")
    #expect(try folder.names == ["a.part.json"])
    #expect(try folder.text("a.part.json") == "mine")
  }

  /// Each of these is a file of the user's that has the name of a partial file or its record.
  @Test(
    arguments: [
      ("mine", nil), ("mine", ""), ("mine", "{}"), ("four", "{"), ("four", #"{"segments":[]}"#),
      ("four", #"{"segments":[{"start":0,"position":9,"end":10}]}"#),
      ("four", #"{"segments":[{"start":5,"position":1,"end":10}]}"#),
      ("four", #"{"segments":[{"start":2,"position":4,"end":10}]}"#),
      ("four", #"{"segments":[{"start":0,"position":4,"end":-1}]}"#),
      ("four", #"{"segments":[{"start":0,"position":4},{"start":10,"position":10}]}"#),
      ("four", #"{"size":10,"segments":[{"start":0,"position":4,"end":99}]}"#),
    ] as [(String, String?)])
  func filesOfTheUser_areNotTouched(part: String, record: String?) throws {
    try Data(part.utf8).write(to: folder.file("a.part"))
    try record.map { try Data($0.utf8).write(to: folder.file("a.part.json")) }
    let mine = try folder.names
    let file = try open("a")
    #expect(file.leftover == nil)
    try file.begin(ResumeState())
    try file.write("four", at: 0)
    try file.save(four)
    #expect(file.close())
    #expect(try Set(folder.names) == Set(mine).union(["a.1.part", "a.1.part.json"]))
    // A later run finds its own file, and continues it.
    let next = try open("a")
    #expect(next.leftover == four)
    try next.begin(four)
    try next.commit()
    #expect(try Set(folder.names) == Set(mine).union(["a"]))
    #expect(try folder.text("a.part") == part)
    #expect(try record == nil || folder.text("a.part.json") == record)
  }

  @Test func filesThatAppear_areNotTouched() throws {
    let file = try open("a")
    for name in ["a.part", "a.1.part.json", "a.2.part"] {
      try Data("mine".utf8).write(to: folder.file(name))
    }
    try file.begin(ResumeState())
    #expect(try folder.names == ["a.1.part.json", "a.2.part", "a.3.part", "a.part"])
    try Data("mine".utf8).write(to: folder.file("a.3.part.json"))
    try file.save(four)
    try file.commit()
    for name in try folder.names where name != "a" { #expect(try folder.text(name) == "mine") }
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

  @Test func linkWithAPartialName_leavesItsTargetAlone() throws {
    try Data("precious".utf8).write(to: folder.file("target"))
    try FileManager.default.createSymbolicLink(
      at: folder.file("a.part"), withDestinationURL: folder.file("target"))
    try begin("a").commit()
    #expect(try folder.text("target") == "precious")
    #expect(try folder.names == ["a", "a.part", "target"])
  }

  @Test func fifoAndFolderWithPartialNames_areLeftAlone() throws {
    #expect(mkfifo(folder.path("a.part"), 0o600) == 0)
    try FileManager.default.createDirectory(
      at: folder.file("a.1.part.json"), withIntermediateDirectories: false)
    try begin("a").commit()
    #expect(try folder.names == ["a", "a.1.part.json", "a.part"])
  }

  @Test func commit_keepsThePermissionsOfTheFileThatIsReplaced() throws {
    let path = folder.path("a")
    try Data("old".utf8).write(to: folder.file("a"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    try begin("a").commit()
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  @Test func begin_whenTheFolderIsMissing_saysSo() throws {
    let file = try PartialFile(for: "a", in: folder.path("missing/"))
    let failure = #expect(throws: FileFailure.self) { try file.begin(ResumeState()) }
    #expect(failure?.code == ENOENT)
    #expect(failure?.description.contains("missing/a.part") == true)
  }

  @Test func init_whenTheNameIsAFolder_saysSo() throws {
    try FileManager.default.createDirectory(
      at: folder.file("a"), withIntermediateDirectories: false)
    let failure = #expect(throws: FileFailure.self) { try open("a") }
    #expect(failure?.code == EISDIR)
    #expect(try folder.names == ["a"])
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
