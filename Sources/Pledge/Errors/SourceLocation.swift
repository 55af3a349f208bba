/// Reports of unhandled errors, and tracing of promises.
public enum PromiseDiagnostics {}

extension PromiseDiagnostics {
  /// A line of a source file, such as the one that created a promise.
  @frozen public struct SourceLocation: Sendable, Hashable, CustomStringConvertible {
    /// The module and the file, in the format of `#fileID`.
    public var fileID: String { file.text }
    /// The line number, which starts at 1.
    public let line: UInt

    @usableFromInline let file: StaticText

    /// The bytes of the file's name, which end with a zero.
    package var fileBytes: UnsafePointer<UInt8> { file.bytes }

    /// Creates the location of `line` in `fileID`, a string literal.
    @inlinable
    package init(fileID: StaticString, line: UInt) {
      self.file = StaticText(fileID)
      self.line = line
    }

    /// Creates the location of `line` in the file whose name `file` points to, in a string literal.
    package init(file: UnsafePointer<UInt8>, line: UInt) {
      self.file = StaticText(bytes: file)
      self.line = line
    }

    /// Whether the library created the promise, for an operator or a policy.
    var isInLibrary: Bool {
      isIn("Pledge/") || isIn("PledgeNIO/")
    }

    private func isIn(_ folder: String) -> Bool {
      // The comparison ends at the first difference, and so not after the zero.
      folder.utf8.enumerated().allSatisfy { fileBytes[$0.offset] == $0.element }
    }

    /// The location as `Module/File.swift:12`.
    public var description: String { "\(fileID):\(line)" }
  }
}

/// The text of a `StaticString`, which itself takes three words.
///
/// `@unchecked Sendable`: `bytes` points to a string literal, which is never changed.
@frozen @usableFromInline
struct StaticText: @unchecked Sendable, Hashable {
  /// The bytes, which end with a zero.
  @usableFromInline let bytes: UnsafePointer<UInt8>

  @inlinable
  init(_ string: StaticString) { bytes = string.utf8Start }

  init(bytes: UnsafePointer<UInt8>) { self.bytes = bytes }

  var text: String { String(cString: bytes) }

  @usableFromInline
  static func == (first: Self, second: Self) -> Bool { first.text == second.text }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// The package uses the plain name, which isn't public because Swift Testing declares a type with
/// that name.
@usableFromInline
typealias SourceLocation = PromiseDiagnostics.SourceLocation
