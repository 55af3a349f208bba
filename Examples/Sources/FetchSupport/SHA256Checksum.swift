import Crypto
import Foundation

/// The SHA-256 of some bytes.
public struct SHA256Checksum: Hashable, Sendable, CustomStringConvertible {
  /// The 64 hexadecimal digits, in lower case.
  public let hex: String

  /// Creates a checksum from its hexadecimal digits.
  ///
  /// - Parameter hex: 64 digits of either case; anything else gives `nil`.
  public init?(hex: String) {
    let digits = Array(hex.utf8)
    guard digits.count == 64, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
      return nil
    }
    self.hex = hex.lowercased()
  }

  /// Creates the checksum of `bytes`.
  ///
  /// - Parameter bytes: The bytes.
  public init(of bytes: some DataProtocol) {
    self.init(SHA256.hash(data: bytes))
  }

  /// Creates the checksum of a file.
  ///
  /// The file is read piece by piece, so it may be of any size.
  ///
  /// - Parameter url: The file.
  public init(ofFileAt url: URL) throws(FileFailure) {
    let path = url.path(percentEncoded: false)
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(file) }
    var hash = SHA256()
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { piece.deallocate() }
    while true {
      let count = read(file, piece.baseAddress, piece.count)
      if count > 0 {
        hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: piece[..<count]))
      } else if count == 0 {
        break
      } else if errno != EINTR {
        throw FileFailure(.read, path, errno)
      }
    }
    self.init(hash.finalize())
  }

  private init(_ digest: SHA256.Digest) {
    let digits = Array("0123456789abcdef".utf8)
    hex = String(
      decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The 64 hexadecimal digits.
  public var description: String { hex }
}
