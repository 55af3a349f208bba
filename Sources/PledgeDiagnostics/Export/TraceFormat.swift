import Foundation

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// What a trace can be written as.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// The trace-event format, for `ui.perfetto.dev` or `chrome://tracing`: threads with the handlers
    /// that ran on them, and arrows from settlements to the handlers that they set going.
    case json
    /// A page for any browser: the chains along the time. It loads nothing from the network.
    case html

    /// The format of a file with this name, by its extension: `.json` or `.html`.
    ///
    /// Throws an ``UnknownTraceFormatError`` for any other extension.
    public init(fileName: String) throws {
      let fileExtension = (fileName as NSString).pathExtension.lowercased()
      guard let format = Format(rawValue: fileExtension) else {
        throw UnknownTraceFormatError(fileName: fileName)
      }
      self = format
    }
  }

  /// What was recorded up to now, in `format`.
  ///
  /// Throws what the encoder throws.
  ///
  /// - Complexity: O(n log n) for n promises in the record; the first report also looks up the
  ///   places in the program's debugging information.
  public func data(as format: Format) throws -> Data {
    switch format {
    case .json: try snapshot().chromeTrace()
    case .html: try snapshot().timelinePage()
    }
  }

  /// Writes what was recorded up to now to `file`, in the format that its extension names.
  ///
  /// The file takes the place of one of that name, as a whole or not at all. Throws an
  /// ``UnknownTraceFormatError`` for an extension other than `.json` and `.html`, and what the file system
  /// throws.
  ///
  /// - Complexity: As that of ``data(as:)``.
  public func write(to file: URL) throws {
    let format = try Format(fileName: file.lastPathComponent)
    try data(as: format).write(to: file, options: .atomic)
  }
}

/// The error for a file name whose extension isn't that of a ``Trace/Format``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct UnknownTraceFormatError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name.
  public let fileName: String

  /// A description that lists the extensions.
  public var description: String {
    let extensions = Trace.Format.allCases.map { ".\($0.rawValue)" }.joined(separator: " or ")
    return "\u{201C}\(fileName)\u{201D} is no name for a trace: it must end in \(extensions)"
  }
}
