import Dispatch

@available(iOS 13.0, macOS 10.15, tvOS 13.0, watchOS 6.0, *)
extension Guarantee {
  /// Waits for the value without blocking a thread.
  ///
  /// The task continues after a handler on `conf.Q.return` has run, so that queue must run its
  /// work.
  public func async() async -> T { await async(on: conf.Q.return) }

  /// Waits for the value without blocking a thread.
  ///
  /// The task continues after a handler on `queue` has run; with nil, when the guarantee is fulfilled.
  /// The original doesn't have this method.
  public func async(on queue: DispatchQueue?) async -> T {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Boxed<T>, Never>) in
      done(on: queue) { continuation.resume(returning: Boxed($0)) }
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
  public func async() async throws -> T { try await async(on: conf.Q.return) }

  /// Waits for the value without blocking a thread; throws the error, even if it represents a
  /// cancellation.
  ///
  /// The task continues after a handler on `queue` has run; with nil, when the promise settles. The
  /// original doesn't have this method.
  public func async(on queue: DispatchQueue?) async throws -> T {
    try await withUnsafeThrowingContinuation {
      (continuation: UnsafeContinuation<Boxed<T>, any Error>) in
      done(on: queue) {
        continuation.resume(returning: Boxed($0))
      }.catch(on: queue, policy: .allErrors) {
        continuation.resume(throwing: $0)
      }
    }.value
  }
}
