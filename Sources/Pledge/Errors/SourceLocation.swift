/// Reports of unhandled errors, and tracing of promises.
public enum PromiseDiagnostics {}

extension PromiseDiagnostics {
  /// A line of a source file, such as the one that created a promise.
  ///
  /// `@unchecked Sendable`: `file` points to a string literal, which is never changed.
  public struct SourceLocation: @unchecked Sendable, Hashable, CustomStringConvertible {
    /// The module and the file, in the format of `#fileID`.
    public var fileID: String { String(cString: file) }
    /// The line number, which starts at 1.
    public let line: UInt

    /// The bytes of a `StaticString`, which end with a zero.
    ///
    /// They are stored instead of the `StaticString`, which takes three words.
    @usableFromInline package let file: UnsafePointer<UInt8>

    /// Creates the location of `line` in `fileID`, a string literal.
    @inlinable
    package init(fileID: StaticString, line: UInt) {
      self.file = fileID.utf8Start
      self.line = line
    }

    /// Creates the location of `line` in the file whose name `file` points to, in a string literal.
    package init(file: UnsafePointer<UInt8>, line: UInt) {
      self.file = file
      self.line = line
    }

    /// The location as `Module/File.swift:12`.
    public var description: String { "\(fileID):\(line)" }

    /// Whether two locations are the same.
    public static func == (first: SourceLocation, second: SourceLocation) -> Bool {
      first.line == second.line && first.fileID == second.fileID
    }

    /// Hashes file and line.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(fileID)
      hasher.combine(line)
    }
  }
}

/// The package uses the plain name, which isn't public because Swift Testing declares a type with
/// that name.
@usableFromInline
typealias SourceLocation = PromiseDiagnostics.SourceLocation
