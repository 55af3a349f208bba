import FetchSupport
import Foundation

/// A storage that keeps files in a folder.
public struct FolderStorage: Storage {
  private let parts: PartialFiles
  /// Whether a file that exists is never replaced; otherwise, it is replaced when the new one is
  /// complete.
  private let keepsExisting: Bool

  /// Creates a storage.
  public init(_ parts: PartialFiles, keepsExisting: Bool = false) {
    self.parts = parts
    self.keepsExisting = keepsExisting
  }

  /// Returns the size of an existing file that doesn't need to be downloaded; nil otherwise.
  ///
  /// A file with the right checksum isn't downloaded again. Throws ``ChecksumMismatch`` if it has
  /// another one and must be kept.
  public func present(_ file: Download) throws -> Int? {
    guard file.checksum != nil || keepsExisting else { return nil }
    let path = parts.path(of: file.name)
    // A file whose status can't be read counts as missing; the download then reports why it can't
    // be written.
    var status = stat()
    guard stat(path, &status) == 0 else {
      // A symbolic link without a target is kept, too.
      return keepsExisting && lstat(path, &status) == 0 ? 0 : nil
    }
    // Opening it reports that it is a folder.
    guard status.st_mode & S_IFMT != S_IFDIR else { return nil }
    let size = Int(status.st_size)
    guard let expected = file.checksum else { return size }
    let actual = try Checksum(ofFileAt: path)
    if actual == expected { return size }
    if keepsExisting { throw ChecksumMismatch(expected: expected, actual: actual) }
    return nil
  }

  /// Returns the partial file for a name.
  public func open(_ name: String) throws -> any Part { try parts.open(name) }

  /// Renames a partial file to its final name.
  public func commit(_ part: any Part) throws {
    if let file = part as? PartialFile { try file.commit(replacing: !keepsExisting) }
  }

  /// Closes a partial file, and keeps it if it can be resumed.
  public func close(_ part: any Part) {
    if let file = part as? PartialFile { parts.close(file) }
  }
}
