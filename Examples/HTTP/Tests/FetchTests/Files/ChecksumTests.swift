import Foundation
import Testing

@testable import fetch

@Suite struct ChecksumTests {
  private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

  @Test func checksum_hasKnownValues_andAcceptsEitherCaseAndNothingElse() {
    #expect(Checksum(of: Data("abc".utf8)).hex == Self.abc)
    #expect(Checksum(of: Data()).description.hasPrefix("e3b0c44298fc1c149afbf4c8996fb924"))
    #expect(Checksum(hex: Self.abc.uppercased()) == Checksum(hex: Self.abc))
    for hex in ["", "\(Self.abc)0", "\(Self.abc.dropLast())", String(repeating: "é", count: 32)] {
      #expect(Checksum(hex: hex) == nil)
    }
  }

  @Test(arguments: [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
  func init_ofFile_equalsThatOfItsBytes(size: Int) throws {
    let folder = ScratchFolder()
    let bytes = Data((0..<size).lazy.map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try bytes.write(to: folder.file("x"))
    #expect(try Checksum(ofFileAt: folder.path("x")) == Checksum(of: bytes))
  }

  @Test func init_ofAFileThatCannotBeRead_saysWhy() throws {
    let folder = ScratchFolder()
    for (name, operation, code) in [
      ("missing", FileFailure.Operation.open, ENOENT), ("", .read, EISDIR),
    ] {
      let path = folder.path(name)
      #expect(throws: FileFailure(operation, path, code)) { try Checksum(ofFileAt: path) }
    }
  }
}
