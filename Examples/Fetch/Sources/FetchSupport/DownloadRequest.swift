import Foundation

/// A file to download, as specified by a list or by arguments.
public struct DownloadRequest: Sendable, Equatable {
  /// The URLs that serve the file, in the order in which they were specified.
  ///
  /// Requests that ``DownloadList`` returns contain at least one.
  public var mirrors: [URL]

  /// The expected checksum, if it is specified.
  public var checksum: Checksum?

  /// The file name, if it is specified.
  public var name: String?

  /// The expected size in bytes, if it is specified.
  public var size: Int?

  /// The algorithm of a checksum that is specified but not supported.
  public var unsupportedChecksum: String?

  /// Where the request is specified, for error messages, as in `list.txt:3`.
  public var location = ""

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - mirrors: The URLs that serve the file.
  ///   - checksum: The expected checksum.
  ///   - name: The file name.
  public init(mirrors: [URL], checksum: Checksum? = nil, name: String? = nil) {
    self.mirrors = mirrors
    self.checksum = checksum
    self.name = name
  }

  /// The name of the file on the server.
  public var remoteName: String { mirrors.first.map(FileNames.remoteName) ?? name ?? "" }
}
