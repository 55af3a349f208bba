import Foundation

/// A file to download, as specified by a list or by arguments.
public struct DownloadRequest: Sendable, Equatable {
  /// The URLs that serve the file, in the order in which they were specified; at least one.
  public var mirrors: [URL]
  /// The expected checksum, if it is specified.
  public var checksum: Checksum?
  /// The file name, if it is specified.
  public var name: String?
  /// Where the request is specified, for error messages, as in `list.txt:3`.
  public var location = ""
}
