import CSHA256
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

  init(of bytes: some DataProtocol) {
    var builder = ChecksumBuilder()
    for region in bytes.regions { region.withUnsafeBytes { builder.update($0) } }
    self = builder.checksum
  }

  /// Creates the checksum of a file of any size, which is read piece by piece.
  init(ofFileAt path: String) throws(FileFailure) {
    // Opening a FIFO would wait for its writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(file) }
    var builder = ChecksumBuilder()
    try StandardStreams.forEachPiece(of: file, path) { builder.update($0) }
    self = builder.checksum
  }

  fileprivate init(_ bytes: [UInt8]) {
    hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
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

/// The incremental computation of a checksum.
struct ChecksumBuilder: Sendable {
  private var state = sha256_state()

  init() { sha256_begin(&state) }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    sha256_update(&state, bytes.baseAddress, bytes.count)
  }

  /// The checksum of the bytes so far.
  var checksum: Checksum {
    var state = state
    var bytes = [UInt8](repeating: 0, count: 32)
    sha256_end(&state, &bytes)
    return Checksum(bytes)
  }
}
