import FetchSupport
import Foundation
import Testing

@testable import FetchEngine

@Suite struct FolderStorageTests {
  private func withStorage(_ body: (URL, FolderStorage) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      component: "fetch-storage-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder, FolderStorage(in: folder))
  }

  private func names(in folder: URL) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)))
  }

  private func begin(_ name: String, _ storage: FolderStorage) throws -> any Part {
    let part = try storage.open(name)
    try part.begin(ResumeState())
    return part
  }

  @Test func close_removesWhatIsOpen_andKeepsWhatIsWholeOrCanBeContinued() throws {
    try withStorage { folder, storage in
      try storage.commit(begin("a", storage))
      let open = try [begin("b", storage), begin("c", storage), storage.open("d")]
      try open[1].save(ResumeState())
      storage.close()
      #expect(try names(in: folder) == ["a", "c.part", "c.part.json"])
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
      #expect(try names(in: folder).count == 3)
    }
  }

  @Test func closed_oneByOne_canBeOpenedAgain() throws {
    try withStorage { folder, storage in
      storage.close(try begin("a", storage))
      let second = try begin("a", storage)
      #expect(try names(in: folder) == ["a.part"])
      storage.close()
      #expect(try names(in: folder).isEmpty)
      withExtendedLifetime(second) {}
    }
  }
}
