import Foundation
import Testing

@testable import fetch

@Suite struct FolderStorageTests {
  private let folder = ScratchFolder()
  private let storage: FolderStorage

  init() { storage = FolderStorage(in: folder.url) }

  private func begin(_ name: String) throws -> any Part {
    let part = try storage.open(name)
    try part.begin(ResumeState())
    return part
  }

  @Test func close_removesWhatIsOpen_andKeepsWhatIsWholeOrCanBeContinued() throws {
    try storage.commit(begin("a"))
    let open = try [begin("b"), begin("c"), storage.open("d")]
    try open[1].save(ResumeState())
    storage.close()
    #expect(try folder.names == ["a", "c.fetch-part", "c.fetch-part.json"])
    #expect(storage.keptCount == 1)
    for part in open {
      let failure = #expect(throws: FileFailure.self) {
        try Data([1]).withUnsafeBytes { try part.write($0, at: 0) }
      }
      #expect(failure?.code == EBADF)
      #expect(throws: FileFailure.self) { try part.begin(ResumeState()) }
      #expect(throws: FileFailure.self) { try storage.commit(part) }
    }
    #expect(throws: CancellationError.self) { try storage.open("e") }
    #expect(try folder.names.count == 3)
  }

  /// For example, because a download that is cancelled closes it in another thread.
  @Test func close_countsAFileThatIsBeingClosed() throws {
    let file = try begin("a")
    try file.save(ResumeState())
    #expect((file as? PartialFile)?.close() == true)
    storage.close()
    #expect(storage.keptCount == 1)
    storage.close(file)
    #expect(storage.keptCount == 1)
  }

  @Test func fileThatIsClosed_canBeOpenedAgain() throws {
    storage.close(try begin("a"))
    #expect(try folder.names.isEmpty)
    try storage.commit(begin("a"))
    #expect(try folder.names == ["a"])
  }
}
