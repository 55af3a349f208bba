import FetchSupport
import Foundation

extension PartialFile: Part {}

/// A storage that keeps files in a folder.
public struct FolderStorage: Storage {
  /// The policy for a file that already exists.
  public enum Existing: Sendable {
    /// The file is replaced when the new one is complete.
    case replaced
    /// The file is kept and isn't downloaded.
    case kept
  }

  /// The partial files.
  public let parts: PartialFiles
  private let existing: Existing
  /// Whether ``commit(_:)`` flushes the file to disk.
  public let isSyncing: Bool

  /// Creates a storage.
  public init(_ parts: PartialFiles, existing: Existing, syncing: Bool = false) {
    self.parts = parts
    self.existing = existing
    isSyncing = syncing
  }

  /// Returns the size of an existing file that doesn't need to be downloaded; nil otherwise.
  ///
  /// A file with the right checksum isn't downloaded again, whatever the policy.
  public func present(_ file: Download) throws -> Int? {
    guard file.checksum != nil || existing == .kept else { return nil }
    let path = parts.path(of: file.name)
    // A file whose status can't be read counts as missing; the download then reports why it can't
    // be written.
    var status = stat()
    guard stat(path, &status) == 0 else {
      // A symbolic link without a target is kept, too.
      return existing == .kept && lstat(path, &status) == 0 ? 0 : nil
    }
    // Opening it reports that it is a folder.
    guard status.st_mode & S_IFMT != S_IFDIR else { return nil }
    let size = Int(status.st_size)
    let stays =
      if let expected = file.checksum {
        (try? Checksum(ofFileAt: path, expected.algorithm)) == expected
      } else {
        existing == .kept
      }
    if stays { removeLeftover(of: file) }
    return stays ? size : nil
  }

  /// Removes the partial file that a killed run left, if the file itself is complete by now.
  private func removeLeftover(of file: Download) {
    let path = parts.path(of: PartialFile.partialName(for: file.name))
    guard access(path, F_OK) == 0 else { return }
    // A partial file that is in use is locked, and is kept.
    (try? PartialFile(for: file.name, in: parts.directory))?.discard()
  }

  /// Opens the partial file for a name.
  public func open(_ name: String) throws -> any Part { try parts.open(name) }

  /// Renames a partial file to its final name.
  public func commit(_ part: any Part) throws {
    if let file = part as? PartialFile { try file.commit(syncing: isSyncing) }
  }

  /// Closes a partial file, and keeps it if it can be resumed.
  public func close(_ part: any Part) {
    if let file = part as? PartialFile { parts.close(file) }
  }
}
