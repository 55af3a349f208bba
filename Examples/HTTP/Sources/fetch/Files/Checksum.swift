import Crypto
import Foundation

/// The SHA-256 checksum of some bytes.
struct Checksum: Hashable, Sendable, CustomStringConvertible {
  /// The 64 hexadecimal digits, in lower case.
  let hex: String

  /// Creates a checksum from its hexadecimal digits, in either case; nil if `hex` isn't 64 of them.
  init?(hex: String) {
    guard hex.utf8.count == 64, hex.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return nil }
    self.hex = hex.lowercased()
  }

  init(of bytes: some DataProtocol) { self.init(SHA256.hash(data: bytes)) }

  init(_ digest: SHA256.Digest) {
    hex = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Creates the checksum of a file of any size, which is read piece by piece.
  init(ofFileAt path: String) throws(FileFailure) {
    // Opening a FIFO would wait for its writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(file) }
    var hash = SHA256()
    try StandardStreams.forEachPiece(of: file, path) { hash.update(bufferPointer: $0) }
    self.init(hash.finalize())
  }

  var description: String { hex }
}

/// The error of a file whose checksum isn't the expected one.
struct ChecksumMismatch: Error, Equatable, CustomStringConvertible {
  let expected: Checksum
  let actual: Checksum

  var description: String {
    "wrong sha256 \(actual.hex.prefix(12))…, expected \(expected.hex.prefix(12))…"
  }
}
