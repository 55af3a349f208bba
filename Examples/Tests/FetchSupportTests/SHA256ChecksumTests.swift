import Foundation
import Testing

@testable import FetchSupport

@Suite struct SHA256ChecksumTests {
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
  private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  @Test func init_ofBytes_matchesKnownValues() {
    #expect(SHA256Checksum(of: Data("abc".utf8)).hex == Self.abc)
    #expect(SHA256Checksum(of: Data()).description == Self.empty)
  }

  @Test func init_ofHex_acceptsEitherCaseAndNothingElse() {
    #expect(SHA256Checksum(hex: Self.abc.uppercased()) == SHA256Checksum(hex: Self.abc))
    #expect(SHA256Checksum(hex: String(Self.abc.dropLast())) == nil)
    #expect(SHA256Checksum(hex: Self.abc + "0") == nil)
    #expect(SHA256Checksum(hex: String(repeating: "é", count: 32)) == nil)
    #expect(SHA256Checksum(hex: "") == nil)
  }

  @Test(arguments: [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
  func init_ofFile_equalsThatOfItsBytes(size: Int) throws {
    let folder = try ScratchFolder()
    let bytes = Data((0..<size).lazy.map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try bytes.write(to: folder.file("x"))
    #expect(try SHA256Checksum(ofFileAt: folder.file("x")) == SHA256Checksum(of: bytes))
  }

  @Test func init_ofMissingFile_saysWhichAndWhy() throws {
    let folder = try ScratchFolder()
    let failure = #expect(throws: FileFailure.self) {
      try SHA256Checksum(ofFileAt: folder.file("missing"))
    }
    #expect(failure?.operation == .open)
    #expect(failure?.code == ENOENT)
  }

  @Test func init_ofFolder_fails() throws {
    let folder = try ScratchFolder()
    let failure = #expect(throws: FileFailure.self) { try SHA256Checksum(ofFileAt: folder.url) }
    #expect(failure?.operation == .read)
  }
}
