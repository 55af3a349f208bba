import FetchSupport
import Foundation

extension PartialFile: Part {}

/// The files of a folder.
public struct FolderStorage: Storage {
  /// What to do with a file that already exists.
  public enum Existing: Sendable {
    /// It is replaced when the new one is whole.
    case replaced
    /// It stays, and is not downloaded.
    case kept
  }

  /// The partial files.
  public let parts: PartialFiles
  private let existing: Existing
  /// Whether ``commit(_:)`` waits until the disk has the file.
  public let isSyncing: Bool

  /// Creates a storage.
  public init(_ parts: PartialFiles, existing: Existing, syncing: Bool = false) {
    self.parts = parts
    self.existing = existing
    isSyncing = syncing
  }

  /// A file with the right checksum need not be downloaded, whatever the policy.
  public func present(_ file: Download) throws -> Int? {
    guard file.checksum != nil || existing == .kept else { return nil }
    let path = parts.path(of: file.name)
    // What cannot be read is not there; the download tells why it cannot be written either.
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
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

  /// Removes what a run that was killed has left of a file that is whole by now.
  private func removeLeftover(of file: Download) {
    let path = parts.path(of: PartialFile.partialName(for: file.name))
    guard access(path, F_OK) == 0 else { return }
    // One that is in use is locked, and stays.
    (try? PartialFile(for: file.name, in: parts.directory))?.discard()
  }

  /// Opens the partial file of that name.
  public func open(_ name: String) throws -> any Part { try parts.open(name) }

  /// Gives a file its final name.
  public func commit(_ part: any Part) throws {
    if let file = part as? PartialFile { try file.commit(syncing: isSyncing) }
  }

  /// Closes a partial file, and keeps it if it can be continued.
  public func close(_ part: any Part) {
    if let file = part as? PartialFile { parts.close(file) }
  }
}
