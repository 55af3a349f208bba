/// A place in a source file.
///
/// `@unchecked Sendable`: `file` points to a string literal of the program, which nobody changes.
public struct Origin: @unchecked Sendable, Hashable, CustomStringConvertible {
  /// The module and the file, as `#fileID` gives them.
  public var fileID: String { String(cString: file) }
  /// The line, counted from 1.
  public let line: UInt

  /// The bytes of a `StaticString`, which end with a zero; a `StaticString` takes three words.
  @usableFromInline let file: UnsafePointer<UInt8>

  /// Names the place `line` in `fileID`, a string literal.
  @inlinable
  public init(fileID: StaticString, line: UInt) {
    self.file = fileID.utf8Start
    self.line = line
  }

  /// The place as `Module/File.swift:12`.
  public var description: String { "\(fileID):\(line)" }

  /// Whether two places are the same.
  public static func == (first: Origin, second: Origin) -> Bool {
    first.line == second.line && first.fileID == second.fileID
  }

  /// Hashes file and line.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(fileID)
    hasher.combine(line)
  }
}
