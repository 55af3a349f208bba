import CDigests
import Foundation

/// The algorithm of a checksum.
public enum ChecksumAlgorithm: String, Sendable, CaseIterable {
  /// SHA-256.
  case sha256
  /// SHA-1, for which collisions can be created.
  case sha1
  /// MD5, for which collisions can be created.
  case md5

  /// The number of hexadecimal digits.
  public var digitCount: Int {
    switch self {
    case .sha256: 64
    case .sha1: 40
    case .md5: 32
    }
  }

  /// Whether the checksum detects accidental changes, but not those of an attacker.
  public var isWeak: Bool { self != .sha256 }

  fileprivate var kind: Int32 {
    switch self {
    case .sha256: Int32(DIGEST_SHA256)
    case .sha1: Int32(DIGEST_SHA1)
    case .md5: Int32(DIGEST_MD5)
    }
  }
}

/// The checksum of some bytes.
public struct Checksum: Hashable, Sendable, CustomStringConvertible {
  /// The algorithm of the checksum.
  public let algorithm: ChecksumAlgorithm

  /// The hexadecimal digits, in lower case.
  public let hex: String

  /// Creates a checksum from its hexadecimal digits; nil if their number is wrong or `hex` contains
  /// other characters.
  ///
  /// - Parameters:
  ///   - hex: The digits, in either case.
  ///   - algorithm: The algorithm; nil to determine it from the number of digits.
  public init?(hex: String, _ algorithm: ChecksumAlgorithm? = nil) {
    let digits = Array(hex.utf8)
    let candidates = algorithm.map { [$0] } ?? ChecksumAlgorithm.allCases
    guard let match = candidates.first(where: { $0.digitCount == digits.count }),
      digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return nil }
    self.algorithm = match
    self.hex = hex.lowercased()
  }

  /// Creates the checksum of `bytes`.
  public init(of bytes: some DataProtocol, _ algorithm: ChecksumAlgorithm = .sha256) {
    var digest = ChecksumBuilder(algorithm)
    for region in bytes.regions { region.withUnsafeBytes { digest.update($0) } }
    self = digest.finish()
  }

  /// Creates the checksum of a file.
  ///
  /// The file is read piece by piece, so it can be of any size.
  public init(ofFileAt url: URL, _ algorithm: ChecksumAlgorithm = .sha256) throws(FileFailure) {
    try self.init(ofFileAt: url.path(percentEncoded: false), algorithm)
  }

  /// Creates the checksum of the file at a path, which is read piece by piece.
  public init(ofFileAt path: String, _ algorithm: ChecksumAlgorithm = .sha256) throws(FileFailure) {
    // Opening a FIFO would wait for its writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(file) }
    var digest = ChecksumBuilder(algorithm)
    try FileReading.forEachPiece(of: file, path) { digest.update($0) }
    self = digest.finish()
  }

  fileprivate init(_ algorithm: ChecksumAlgorithm, _ bytes: some Sequence<UInt8>) {
    let digits = Array("0123456789abcdef".utf8)
    self.algorithm = algorithm
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
    "wrong \(expected.algorithm.rawValue) \(actual.hex.prefix(12))…, "
      + "expected \(expected.hex.prefix(12))…"
  }
}

/// The incremental computation of a checksum.
public struct ChecksumBuilder: Sendable {
  private let algorithm: ChecksumAlgorithm
  private var state = digest_state()

  /// Creates a builder without any bytes.
  public init(_ algorithm: ChecksumAlgorithm = .sha256) {
    self.algorithm = algorithm
    digest_begin(&state, algorithm.kind)
  }

  /// Adds bytes.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    digest_update(&state, bytes.baseAddress, bytes.count)
  }

  /// Returns the checksum of all bytes; call this once.
  public mutating func finish() -> Checksum {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = digest_end(&state, &bytes)
    return Checksum(algorithm, bytes[..<Int(count)])
  }
}
