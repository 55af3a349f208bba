import Pledge

/// What a test expected and did not find.
///
/// The helpers of this module throw it, so any test framework can report it.
public struct ExpectationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected, and what was found instead.
  public let message: String
  /// The place of the expectation.
  public let origin: PromiseDiagnostics.SourceLocation
  /// What was pending, and what it waited for, if the expectation ran out of time while a `Trace`
  /// of `PledgeDiagnostics` was on.
  public let pendingTree: String?

  /// Makes a failure of the expectation at `origin`.
  public init(
    _ message: String, origin: PromiseDiagnostics.SourceLocation, pendingTree: String? = nil
  ) {
    self.message = message
    self.origin = origin
    self.pendingTree = pendingTree
  }

  /// The message and the place, and what was pending if that is known.
  public var description: String {
    "\(message) (\(origin))" + (pendingTree.map { "\n\($0)" } ?? "")
  }
}

extension ExpectationError {
  /// The failure of a comparison; where both sides read alike, it tells their types as well.
  static func mismatch<Expected, Found>(
    _ subject: String, _ expected: Expected, found: Found, origin: SourceLocation
  ) -> ExpectationError {
    var sides = (quoted(expected), quoted(found))
    if sides.0 == sides.1 {
      sides.0 += " of type \(type(of: expected as Any))"
      sides.1 += " of type \(type(of: found as Any))"
    }
    return ExpectationError("Expected \(subject) \(sides.0), found \(sides.1)", origin: origin)
  }
}

/// The text for a value in a message: strings stand in quotes, as they do inside of collections.
func quoted(_ value: some Any) -> String {
  value is any StringProtocol || value is Character ? String(reflecting: value) : "\(value)"
}

/// A count and its noun: `1 call`, `2 calls`.
func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// The package calls it by its plain name, which a program cannot use: Swift Testing has it, too.
typealias SourceLocation = PromiseDiagnostics.SourceLocation
