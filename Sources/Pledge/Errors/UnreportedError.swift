/// An error that rejects a promise with another error, which isn't reported if it stays unhandled.
///
/// Throw it from a handler, or pass it to a resolver or to ``Promise/rejected(_:fileID:line:)``.
/// The promise is rejected with ``error`` itself, which counts as handled. Use it in adapters to
/// libraries that don't report unhandled errors.
@frozen public struct UnreportedError: Error {
  /// The error that the promise is rejected with.
  public let error: any Error
  @usableFromInline let isCancellation: Bool

  /// Creates an error that rejects a promise with `error`.
  @inlinable
  public init(_ error: any Error) {
    self.error = error
    isCancellation = false
  }

  /// Creates an error that rejects a promise with `error`, which is a cancellation or isn't, as the
  /// library defines it for which this is an adapter.
  @_spi(DropIns)
  @inlinable
  public init(_ error: any Error, isCancellation: Bool) {
    self.error = error
    self.isCancellation = isCancellation
  }

  /// Returns `error` as an `UnreportedError`, or nil if it isn't one.
  init?(unwrapping error: any Error) {
    // Comparing the types is faster than a cast that fails.
    guard type(of: error) == UnreportedError.self, let error = error as? UnreportedError else {
      return nil
    }
    self = error
  }
}
