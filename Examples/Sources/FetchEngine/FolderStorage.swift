import FetchSupport
import Foundation

extension PartialFile: Part {
  public func commit() throws { let _: URL = try commit() }
}

/// The files of a folder.
public struct FolderStorage: Storage {
  /// What to do with a file that is there already.
  public enum Existing: Sendable {
    /// It is replaced when the new one is whole.
    case replaced
    /// It stays, and is not downloaded.
    case kept
  }

  /// The partial files.
  public let parts: PartialFiles
  private let existing: Existing

  /// Creates a storage.
  public init(_ parts: PartialFiles, existing: Existing) {
    self.parts = parts
    self.existing = existing
  }

  /// A file with the right checksum need not be downloaded, whatever the policy.
  public func present(_ file: Download) throws -> Int? {
    let url = parts.directory.appending(component: file.name, directoryHint: .notDirectory)
    // What cannot be read is not there; the download tells why it cannot be written either.
    guard let size = try? url.resourceValues(forKeys: [.fileSizeKey]).fileSize else { return nil }
    if let expected = file.checksum {
      return (try? Checksum(ofFileAt: url, expected.algorithm)) == expected ? size : nil
    }
    return existing == .kept ? size : nil
  }

  public func open(_ name: String) throws -> any Part { try parts.open(name) }

  public func close(_ part: any Part) {
    if let file = part as? PartialFile { parts.close(file) }
  }
}
