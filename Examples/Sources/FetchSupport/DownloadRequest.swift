import Foundation

/// One file to download, and what is known about it beforehand.
public struct DownloadRequest: Sendable, Equatable {
  /// The addresses that serve the file, in the order they were given.
  ///
  /// There is at least one in a request that ``DownloadList`` made.
  public var mirrors: [URL]

  /// What the file's checksum must be, if the list says.
  public var checksum: Checksum?

  /// The file name that was asked for, if the list says.
  public var name: String?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - mirrors: The addresses that serve the file.
  ///   - checksum: What the file's checksum must be.
  ///   - name: The file name to save it under.
  public init(mirrors: [URL], checksum: Checksum? = nil, name: String? = nil) {
    self.mirrors = mirrors
    self.checksum = checksum
    self.name = name
  }
}
