import Foundation
import Testing

@testable import FetchSupport

@Suite struct PartialFilesTests {
  private let folder: ScratchFolder
  private let files: PartialFiles

  init() throws {
    folder = try ScratchFolder()
    files = PartialFiles(in: folder.url)
  }

  private func begin(_ name: String) throws -> PartialFile {
    let file = try files.open(name)
    try file.begin(ResumeState())
    return file
  }

  @Test func close_removesWhatIsOpen_andKeepsWhatIsWholeOrCanBeContinued() throws {
    try begin("a").commit()
    let open = try [begin("b"), begin("c"), files.open("d")]
    try open[1].save(ResumeState())
    files.close()
    #expect(try folder.names == ["a", "c.part", "c.part.json"])
    #expect(files.keptCount == 1)
    for file in open {
      let failure = #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
      #expect(failure?.code == EBADF)
      #expect(throws: FileFailure.self) { try file.begin(ResumeState()) }
      #expect(throws: FileFailure.self) { try file.commit() }
    }
  }

  @Test func open_afterClose_makesNothing() throws {
    files.close()
    #expect(throws: CancellationError.self) { try files.open("a") }
    #expect(try folder.names.isEmpty)
  }

  @Test func closed_oneByOne_canBeOpenedAgain() throws {
    files.close(try begin("a"))
    let second = try begin("a")
    #expect(try folder.names == ["a.part"])
    files.close()
    #expect(try folder.names.isEmpty)
    withExtendedLifetime(second) {}
  }
}
