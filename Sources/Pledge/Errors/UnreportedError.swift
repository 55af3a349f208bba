/// An error that rejects a promise with another error, which isn't reported if it stays unhandled.
///
/// Throw it from a handler, or pass it to a resolver or to ``Promise/rejected(_:fileID:line:)``.
/// The promise is rejected with ``error`` itself, which counts as handled. Use it in adapters to
/// libraries that don't report unhandled errors.
public struct UnreportedError: Error {
  /// The error that the promise is rejected with.
  public let error: any Error

  /// Creates an error that rejects a promise with `error`.
  @inlinable
  public init(_ error: any Error) { self.error = error }

  /// Returns the error inside `error`, or nil if that isn't an `UnreportedError`.
  static func unwrapped(_ error: any Error) -> (any Error)? {
    // Comparing the types is faster than a cast that fails.
    guard type(of: error) == UnreportedError.self else { return nil }
    return (error as? UnreportedError)?.error
  }
}
