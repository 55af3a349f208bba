/// Rejects a promise with another error, without a report if no handler takes that.
///
/// Throw it from a handler, or pass it to a resolver or to ``Promise/rejected(_:fileID:line:)``: the
/// promise is rejected with ``error`` itself, which counts as handled. For adapters to libraries that
/// don't report unhandled errors.
public struct UnreportedError: Error {
  /// The error that the promise is rejected with.
  public let error: any Error

  /// Creates an error that rejects a promise with `error`.
  @inlinable
  public init(_ error: any Error) { self.error = error }

  /// The error inside `error`, if that is one of these.
  static func unwrapped(_ error: any Error) -> (any Error)? {
    // Compared first: that takes less time than a cast that fails.
    guard type(of: error) == UnreportedError.self else { return nil }
    return (error as? UnreportedError)?.error
  }
}
