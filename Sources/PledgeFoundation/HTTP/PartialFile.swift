import Foundation
import Pledge

/// A temporary file that replaces its destination when it's complete.
///
/// `@unchecked Sendable`: the state of its ``Transfer`` guards it.
final class PartialFile: @unchecked Sendable {
  private let destination: URL
  private let path: URL
  private let handle: FileHandle
  /// The permissions of the file to replace.
  private let permissions: Any?
  private var isOpen = true

  init(for destination: URL) throws {
    // Replaces the file to which a link points, not the link.
    self.destination = destination.resolvingSymlinksInPath()
    // The file is next to the destination, because a file can be renamed atomically only within a
    // file system.
    path = self.destination.deletingLastPathComponent()
      .appendingPathComponent(".\(UUID().uuidString).partial")
    // A folder can't be replaced, and a device or a pipe, such as /dev/null, must not be.
    permissions = try self.destination.attributesOfRegularFile("A download can't replace")?[
      .posixPermissions]
    try Data().write(to: path, options: .withoutOverwriting)
    do {
      // The permissions are set before the first byte is written, so users who can't read the old
      // file can't read the new one.
      if let permissions {
        try FileManager.default.setAttributes(
          [.posixPermissions: permissions], ofItemAtPath: path.path)
      }
      handle = try FileHandle(forWritingTo: path)
    } catch {
      try? FileManager.default.removeItem(at: path)
      throw error
    }
  }

  deinit { discard() }

  func write(_ data: Data) throws { try handle.write(contentsOf: data) }

  /// Renames the file to its destination.
  func commit() throws {
    guard isOpen else { return }
    isOpen = false
    do {
      try handle.close()
      try replaceDestination()
    } catch {
      try? FileManager.default.removeItem(at: path)
      throw error
    }
  }

  /// Removes the file, unless it has been renamed.
  func discard() {
    guard isOpen else { return }
    isOpen = false
    try? handle.close()
    try? FileManager.default.removeItem(at: path)
  }

  private func replaceDestination() throws {
    let failed = path.withUnsafeFileSystemRepresentation { from in
      destination.withUnsafeFileSystemRepresentation { to in
        guard let from, let to else { return true }
        return rename(from, to) != 0
      }
    }
    if failed { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }
}

extension URL {
  /// Returns the attributes of the file that this URL, or a link, points to; nil if there is none.
  ///
  /// If it's a folder, a device, or a pipe, throws an error whose text starts with `problem`.
  func attributesOfRegularFile(_ problem: String) throws -> [FileAttributeKey: Any]? {
    let path = resolvingSymlinksInPath().path
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    if let type = attributes?[.type] as? FileAttributeType, type != .typeRegular {
      throw PromiseError.invalidArgument("\(problem) \(path), which isn't a regular file.")
    }
    return attributes
  }
}
