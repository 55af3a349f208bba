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

  @Test func close_removesWhatIsOpen_andKeepsWhatIsWhole() throws {
    try files.open("a", copy: 1).commit()
    let open = try [files.open("b", copy: 1), files.open("b", copy: 2), files.open("c", copy: 1)]
    files.close()
    #expect(try folder.names == ["a"])
    for file in open {
      let failure = #expect(throws: FileFailure.self) { try file.append(Data("x".utf8)) }
      #expect(failure?.code == EBADF)
      #expect(throws: FileFailure.self) { try file.commit() }
    }
    #expect(try folder.names == ["a"])
  }

  @Test func open_afterClose_makesNothing() throws {
    files.close()
    #expect(throws: CancellationError.self) { try files.open("a", copy: 1) }
    #expect(try folder.names.isEmpty)
  }

  @Test func discard_removesAllCopiesOfOneFile() throws {
    try files.open("a", copy: 1).commit()
    let losers = try [files.open("a", copy: 2), files.open("a", copy: 3)]
    let other = try files.open("b", copy: 1)
    files.discard("a")
    #expect(try folder.names == ["a", "b.part"])
    withExtendedLifetime((losers, other)) {}
  }

  @Test func openedAgain_afterItWasDiscarded_isRemovedToo() throws {
    let first = try files.open("a", copy: 1)
    first.discard()
    let second = try files.open("a", copy: 1)
    files.close()
    #expect(try folder.names.isEmpty)
    withExtendedLifetime(second) {}
  }
}
