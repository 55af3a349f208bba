import CSHA256
import Foundation

/// The SHA-256 checksum of some bytes.
public struct Checksum: Hashable, Sendable, CustomStringConvertible {
  /// The 64 hexadecimal digits, in lower case.
  public let hex: String

  /// Creates a checksum from its hexadecimal digits, in either case; nil if `hex` isn't 64 of them.
  public init?(hex: String) {
    guard hex.utf8.count == 64, hex.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return nil }
    self.hex = hex.lowercased()
  }

  /// Creates the checksum of `bytes`.
  public init(of bytes: some DataProtocol) {
    var builder = ChecksumBuilder()
    for region in bytes.regions { region.withUnsafeBytes { builder.update($0) } }
    self = builder.checksum
  }

  /// Creates the checksum of a file of any size, which is read piece by piece.
  public init(ofFileAt path: String) throws(FileFailure) {
    // Opening a FIFO would wait for its writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(file) }
    var builder = ChecksumBuilder()
    try FileReading.forEachPiece(of: file, path) { builder.update($0) }
    self = builder.checksum
  }

  fileprivate init(_ bytes: [UInt8]) {
    let digits = Array("0123456789abcdef".utf8)
    hex = String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The hexadecimal digits.
  public var description: String { hex }
}

/// The error of a file whose checksum isn't the expected one.
public struct ChecksumMismatch: Error, Equatable, CustomStringConvertible {
  /// The checksum in the list.
  public let expected: Checksum
  /// The checksum of the file.
  public let actual: Checksum

  /// Creates the error.
  public init(expected: Checksum, actual: Checksum) {
    self.expected = expected
    self.actual = actual
  }

  /// A message with both checksums, shortened.
  public var description: String {
    "wrong sha256 \(actual.hex.prefix(12))…, expected \(expected.hex.prefix(12))…"
  }
}

/// The incremental computation of a checksum.
public struct ChecksumBuilder: Sendable {
  private var state = sha256_state()

  /// Creates a builder without any bytes.
  public init() { sha256_begin(&state) }

  /// Adds bytes.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    sha256_update(&state, bytes.baseAddress, bytes.count)
  }

  /// The checksum of the bytes so far.
  public var checksum: Checksum {
    var state = state
    var bytes = [UInt8](repeating: 0, count: 32)
    sha256_end(&state, &bytes)
    return Checksum(bytes)
  }
}
