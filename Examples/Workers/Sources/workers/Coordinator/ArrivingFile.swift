import Crypto
import Foundation
import Pledge
import Synchronization

/// The error of a file whose checksum isn't the one in the list.
struct WrongChecksumError: Error, CustomStringConvertible {
  let file: String
  let expected: String
  let found: String

  var description: String { "\(file) has the checksum \(found), not \(expected)." }
}

/// A file that is being received, hidden until it is complete and has the right checksum.
final class ArrivingFile: Sendable {
  private struct State {
    var hash = SHA256()
    var size = 0
  }

  private let destination: URL
  private let hidden: URL
  private let handle: FileHandle
  private let state = Mutex(State())

  /// Creates the hidden file.
  init(_ destination: URL) throws {
    self.destination = destination
    hidden = destination.deletingLastPathComponent()
      .appendingPathComponent(Self.hiddenName(of: destination))
    try Data().write(to: hidden, options: .withoutOverwriting)
    handle = try FileHandle(forWritingTo: hidden)
  }

  /// Returns a unique name for an attempt.
  private static func hiddenName(of file: URL) -> String {
    ".\(file.lastPathComponent).\(UUID().uuidString).part"
  }

  /// Returns whether a file with this name belongs to an attempt.
  static func isHiddenName(_ name: String) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count >= 4 && parts[0].isEmpty && parts.last == "part"
      && UUID(uuidString: String(parts[parts.count - 2])) != nil
  }

  /// Appends a part; one call at a time.
  func write(_ part: [UInt8]) throws {
    try handle.write(contentsOf: part)
    state.withLock { state in
      state.hash.update(data: part)
      state.size += part.count
    }
  }

  /// Renames the file to its final name and returns its size; throws if its checksum is wrong.
  func finish(expecting sha256: String) throws -> Int {
    let (found, size) = state.withLock { ($0.hash.finalize().hexadecimal, $0.size) }
    guard found == sha256 else {
      throw WrongChecksumError(
        file: destination.lastPathComponent, expected: sha256, found: found)
    }
    try handle.close()
    guard rename(hidden.path, destination.path) == 0 else {
      throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: destination.path])
    }
    return size
  }

  /// Removes the hidden file, if it still exists.
  func discard() { unlink(hidden.path) }
}

extension Sequence<UInt8> {
  /// Two digits for each byte.
  var hexadecimal: String {
    map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}
