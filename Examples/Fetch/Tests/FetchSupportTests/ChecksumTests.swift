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
    #expect(Checksum(hex: String(repeating: "é", count: 32), .sha256) == nil)
    #expect(Checksum(hex: "") == nil)
  }

  @Test(arguments: [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
  func init_ofFile_equalsThatOfItsBytes(size: Int) throws {
    let folder = try ScratchFolder()
    let bytes = Data((0..<size).lazy.map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try bytes.write(to: folder.file("x"))
    #expect(try Checksum(ofFileAt: folder.file("x")) == Checksum(of: bytes))
  }

  @Test func init_ofMissingFile_saysWhichAndWhy() throws {
    let folder = try ScratchFolder()
    let failure = #expect(throws: FileFailure.self) {
      try Checksum(ofFileAt: folder.file("missing"))
    }
    #expect(failure?.operation == .open)
    #expect(failure?.code == ENOENT)
  }

  @Test func init_ofFolder_fails() throws {
    let folder = try ScratchFolder()
    let failure = #expect(throws: FileFailure.self) { try Checksum(ofFileAt: folder.url) }
    #expect(failure?.operation == .read)
  }

  /// Tests lengths near the block and padding sizes, each in one piece and in many.
  @Test(arguments: [
    (0, "d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    (3, "900150983cd24fb0d6963f7d28e17f72", "a9993e364706816aba3e25717850c26c9cd0d89d"),
  ])
  func checksum_ofOtherAlgorithms_isThatOfTheStandards(count: Int, md5: String, sha1: String) {
    let bytes = Data("abc".utf8.prefix(count))
    #expect(Checksum(of: bytes, .md5).hex == md5)
    #expect(Checksum(of: bytes, .sha1).hex == sha1)
  }

  @Test(arguments: ChecksumAlgorithm.allCases)
  func checksum_inPieces_isThatOfTheWhole(algorithm: ChecksumAlgorithm) {
    let bytes = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    for piece in [1, 7, 55, 63, 64, 65, 999] {
      var builder = ChecksumBuilder(algorithm)
      var rest = bytes[...]
      while !rest.isEmpty {
        rest.prefix(piece).withUnsafeBytes { builder.update($0) }
        rest = rest.dropFirst(piece)
      }
      #expect(builder.finish() == Checksum(of: bytes, algorithm))
    }
  }

  @Test func init_withoutAlgorithm_tellsItFromTheLength() {
    #expect(Checksum(hex: String(repeating: "a", count: 40))?.algorithm == .sha1)
    #expect(Checksum(hex: String(repeating: "a", count: 32))?.algorithm == .md5)
    #expect(Checksum(hex: String(repeating: "a", count: 40), .md5) == nil)
    #expect(ChecksumAlgorithm.md5.isWeak && ChecksumAlgorithm.sha1.isWeak)
    #expect(!ChecksumAlgorithm.sha256.isWeak)
  }

  @Test func list_ofSha256sum_isRead() throws {
    let list = """
      \(Self.abc)  a.iso
      \(Self.empty) *folder/b c.iso
      SHA256 (d.iso) = \(Self.abc)
      900150983cd24fb0d6963f7d28e17f72  e.iso
      """
    let checksums = ChecksumList(list)
    #expect(checksums["a.iso"]?.hex == Self.abc)
    #expect(checksums["b c.iso"]?.hex == Self.empty)
    #expect(checksums["d.iso"]?.hex == Self.abc)
    #expect(checksums["e.iso"]?.algorithm == .md5)
  }

  @Test func list_withOtherLines_isRead() {
    let list = """
      \u{FEFF}-----BEGIN PGP SIGNED MESSAGE-----
      Hash: SHA256

      \(Self.abc)  a.iso
      \\\(Self.empty)  b\\nc\\\\d.iso
      abc  x
      -----BEGIN PGP SIGNATURE-----
      """
    let checksums = ChecksumList(list)
    #expect(checksums["a.iso"]?.hex == Self.abc)
    #expect(checksums["b\nc\\d.iso"]?.hex == Self.empty)
    #expect(checksums["x"] == nil)
  }

  @Test func list_withTwoFilesOfTheSameName_tellsThemApartByPath() throws {
    let checksums = ChecksumList(
      "\(Self.abc)  1/a\n\(Self.empty)  2/a\n\(Self.abc)  3/b\n\(Self.abc)  4/b")
    #expect(checksums["a"] == nil)
    #expect(checksums["2/a"]?.hex == Self.empty)
    #expect(checksums["b"]?.hex == Self.abc)
  }

  @Test func list_isSearchedForTheNameOnTheServer() throws {
    let checksums = ChecksumList("\(Self.abc)  .hidden file")
    let requests = try DownloadList.parse("http://a/.hidden%20file\nhttp://b/y out=z")
    #expect(checksums.checksum(for: requests[0])?.hex == Self.abc)
    #expect(checksums.checksum(for: requests[1]) == nil)
    let other = String(repeating: "0", count: 64)
    let both = ChecksumList("\(other)  z\n\(Self.abc)  y")
    #expect(both.checksum(for: requests[1])?.hex == Self.abc, "not that of another file")
    #expect(ChecksumList("\(other)  z").checksum(for: requests[1])?.hex == other)
  }
}
