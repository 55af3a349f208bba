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

  @Test func close_removesWhatIsOpen_andKeepsWhatIsWholeOrCanBeContinued() throws {
    try files.open("a").commit()
    let open = try [files.open("b"), files.open("c")]
    try open[1].save(ResumeState())
    files.close()
    #expect(try folder.names == ["a", "c.part", "c.part.json"])
    #expect(files.keptCount == 1)
    for file in open {
      let failure = #expect(throws: FileFailure.self) { try file.write("x", at: 0) }
      #expect(failure?.code == EBADF)
      #expect(throws: FileFailure.self) { try file.commit() }
    }
  }

  @Test func open_afterClose_makesNothing() throws {
    files.close()
    #expect(throws: CancellationError.self) { try files.open("a") }
    #expect(try folder.names.isEmpty)
  }

  @Test func closed_oneByOne_canBeOpenedAgain() throws {
    files.close(try files.open("a"))
    let second = try files.open("a")
    #expect(try folder.names == ["a.part"])
    files.close()
    #expect(try folder.names.isEmpty)
    withExtendedLifetime(second) {}
  }
}
