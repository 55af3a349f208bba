@available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
extension Guarantee {
  /// Waits for the value without blocking a thread.
  ///
  /// The task continues after a handler on `conf.Q.return` has run, so that queue must run its
  /// work.
  public func async() async -> T {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Boxed<T>, Never>) in
      done { continuation.resume(returning: Boxed($0)) }
    }.value
  }
}

@available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
extension Promise {
  /// Waits for the value without blocking a thread; throws the error, even if it represents a
  /// cancellation.
  ///
  /// The task continues after a handler on `conf.Q.return` has run, so that queue must run its
  /// work.
  public func async() async throws -> T {
    try await withUnsafeThrowingContinuation {
      (continuation: UnsafeContinuation<Boxed<T>, any Error>) in
      done {
        continuation.resume(returning: Boxed($0))
      }.catch(policy: .allErrors) {
        continuation.resume(throwing: $0)
      }
    }.value
  }
}
