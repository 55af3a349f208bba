import Pledge

/// What a test expected and did not find.
///
/// Every helper of this module throws it, so that any test framework can show it.
public struct ExpectationFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected, and what was found instead.
  public let message: String
  /// The place of the expectation.
  public let origin: Origin
  /// What was pending, and what it waited for, if the expectation ran out of time while a `Trace`
  /// of `PledgeDiagnostics` was on.
  public let pendingTree: String?

  /// Makes a failure of the expectation at `origin`.
  public init(_ message: String, origin: Origin, pendingTree: String? = nil) {
    self.message = message
    self.origin = origin
    self.pendingTree = pendingTree
  }

  /// The message and the place, and what was pending if that is known.
  public var description: String {
    "\(message) (\(origin))" + (pendingTree.map { "\n\($0)" } ?? "")
  }
}
