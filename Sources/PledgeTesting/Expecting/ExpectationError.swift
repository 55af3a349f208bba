import Pledge

/// The error for an expectation that isn't met.
///
/// The helpers of this module throw it, so any test framework can report it.
public struct ExpectationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected, and what was found instead.
  public let message: String
  /// The source location of the expectation.
  public let origin: PromiseDiagnostics.SourceLocation
  /// The pending promises and what they wait for, if the expectation's time limit was reached while
  /// a `Trace` of `PledgeDiagnostics` was recording.
  public let pendingTree: String?

  /// Creates the error for the expectation at `origin`.
  public init(
    _ message: String, origin: PromiseDiagnostics.SourceLocation, pendingTree: String? = nil
  ) {
    self.message = message
    self.origin = origin
    self.pendingTree = pendingTree
  }

  /// The message, the source location, and the pending promises if they are known.
  public var description: String {
    "\(message) (\(origin))" + (pendingTree.map { "\n\($0)" } ?? "")
  }
}

extension ExpectationError {
  init(
    _ message: String, _ fileID: StaticString, _ line: UInt, pendingTree: String? = nil
  ) {
    self.init(
      message, origin: .init(fileID: fileID, line: line), pendingTree: pendingTree)
  }

  /// Returns the error for a comparison; if both sides have the same text, it includes their types.
  static func mismatch<Expected, Found>(
    _ subject: String, _ expected: Expected, found: Found, _ fileID: StaticString, _ line: UInt
  ) -> ExpectationError {
    var sides = (quoted(expected), quoted(found))
    if sides.0 == sides.1 {
      sides.0 += " of type \(type(of: expected as Any))"
      sides.1 += " of type \(type(of: found as Any))"
    }
    return ExpectationError("Expected \(subject) \(sides.0), found \(sides.1)", fileID, line)
  }
}

/// Returns the text for a value in a message, with quotation marks around a string.
func quoted(_ value: some Any) -> String {
  value is any StringProtocol || value is Character ? String(reflecting: value) : "\(value)"
}

/// Returns a count and its noun: `1 call`, `2 calls`.
func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
