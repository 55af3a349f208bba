import Foundation

/// A file that gets its name when it is complete.
///
/// Not thread-safe: its ``Transfer`` guards it.
final class PartialFile {
  private let destination: URL
  private let path: URL
  private let handle: FileHandle
  /// The permissions of the file that is to be replaced.
  private let permissions: Any?
  private var isOpen = true

  init(for destination: URL) throws {
    // The file that a link points to is replaced, and not the link.
    self.destination = destination.resolvingSymlinksInPath()
    // Next to the destination, because only within a file system can a file be renamed in one step.
    path = self.destination.deletingLastPathComponent()
      .appendingPathComponent(".\(UUID().uuidString).partial")
    let old = try? FileManager.default.attributesOfItem(atPath: self.destination.path)
    permissions = old?[.posixPermissions]
    try Data().write(to: path, options: .withoutOverwriting)
    do {
      // Before the first byte: what others may not read in the old file is not for them in this one.
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

  /// Gives the file its name.
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

  /// Removes the file, unless it has got its name.
  func discard() {
    guard isOpen else { return }
    isOpen = false
    try? handle.close()
    try? FileManager.default.removeItem(at: path)
  }

  private func replaceDestination() throws {
    #if os(Windows)
      _ = try FileManager.default.replaceItemAt(destination, withItemAt: path)
    #else
      let failed = path.withUnsafeFileSystemRepresentation { from in
        destination.withUnsafeFileSystemRepresentation { to in
          guard let from, let to else { return true }
          return rename(from, to) != 0
        }
      }
      if failed { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    #endif
  }
}
