import Foundation

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// A file format for traces.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// The trace-event format, for `ui.perfetto.dev` or `chrome://tracing`: threads with the handlers
    /// that ran on them, and arrows from settlements to the handlers that they triggered.
    case json
    /// A page for any browser that shows the chains on a timeline and loads nothing from the network.
    case html

    /// Creates the format for a file name with the extension `.json` or `.html`.
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

  /// Returns the recording in `format`.
  ///
  /// Throws the encoder's errors.
  ///
  /// - Complexity: O(n log n) for n promises in the record; the first report also looks up source
  ///   locations in the program's debug information.
  public func data(as format: Format) throws -> Data {
    switch format {
    case .json: try snapshot().chromeTrace()
    case .html: try snapshot().timelinePage()
    }
  }

  /// Writes the recording to `file` in the format that its extension specifies.
  ///
  /// An existing file is replaced atomically. Throws an ``UnknownTraceFormatError`` for an extension
  /// other than `.json` and `.html`, and the errors of the file system.
  ///
  /// - Complexity: The same as that of ``data(as:)``.
  public func write(to file: URL) throws {
    let format = try Format(fileName: file.lastPathComponent)
    try data(as: format).write(to: file, options: .atomic)
  }
}

/// The error for a file name whose extension isn't that of a ``Trace/Format``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct UnknownTraceFormatError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file name.
  public let fileName: String

  /// A description that lists the extensions.
  public var description: String {
    let extensions = Trace.Format.allCases.map { ".\($0.rawValue)" }.joined(separator: " or ")
    return "\u{201C}\(fileName)\u{201D} isn't a name for a trace: it must end in \(extensions)"
  }
}
