import FetchTestSupport
import Foundation
import Testing

@testable import FetchSupport

@Suite struct ChecksumTests {
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  @Test func init_ofBytes_matchesKnownValues() {
    #expect(Checksum(of: Data("abc".utf8)).hex == Self.abc)
    #expect(Checksum(of: Data()).description == Self.empty)
  }

  @Test func init_ofHex_acceptsEitherCaseAndNothingElse() {
    #expect(Checksum(hex: Self.abc.uppercased()) == Checksum(hex: Self.abc))
    #expect(Checksum(hex: String(Self.abc.dropLast())) == nil)
    #expect(Checksum(hex: Self.abc + "0") == nil)
    #expect(Checksum(hex: String(repeating: "é", count: 32)) == nil)
    #expect(Checksum(hex: "") == nil)
  }

  @Test(arguments: [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
  func init_ofFile_equalsThatOfItsBytes(size: Int) throws {
    let folder = try ScratchFolder()
    let bytes = Data((0..<size).lazy.map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try bytes.write(to: folder.file("x"))
    #expect(try Checksum(ofFileAt: folder.path("x")) == Checksum(of: bytes))
  }

  @Test func init_ofMissingFile_saysWhichAndWhy() throws {
    let folder = try ScratchFolder()
    let failure = #expect(throws: FileFailure.self) {
      try Checksum(ofFileAt: folder.path("missing"))
    }
    #expect(failure?.operation == .open)
    #expect(failure?.code == ENOENT)
  }

  @Test func init_ofFolder_fails() throws {
    let folder = try ScratchFolder()
    let failure = #expect(throws: FileFailure.self) { try Checksum(ofFileAt: folder.path("")) }
    #expect(failure?.operation == .read)
  }

  /// Tests lengths near the block and padding sizes, each in one piece and in many.
  @Test(arguments: [1, 7, 55, 63, 64, 65, 999])
  func checksum_inPieces_isThatOfTheWhole(piece: Int) {
    let bytes = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    var builder = ChecksumBuilder()
    var rest = bytes[...]
    while !rest.isEmpty {
      rest.prefix(piece).withUnsafeBytes { builder.update($0) }
      rest = rest.dropFirst(piece)
    }
    #expect(builder.checksum == Checksum(of: bytes))
    #expect(builder.checksum == Checksum(of: bytes), "asking changes nothing")
  }
}
