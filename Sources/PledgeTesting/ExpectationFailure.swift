import Pledge

/// What a test expected and did not find.
///
/// Every helper of this module throws it, so that any test framework can show it.
public struct ExpectationFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected, and what was found instead.
  public let message: String
  /// The place of the expectation.
  public let origin: Origin

  /// Makes a failure of the expectation at `origin`.
  public init(_ message: String, origin: Origin) {
    self.message = message
    self.origin = origin
  }

  /// The message and the place.
  public var description: String { "\(message) (\(origin))" }
}
