extension Promise {
  /// Requests that the producer of this promise stop.
  ///
  /// The request propagates up the chain, up to the first promise that has another consumer. There,
  /// `CancellationError` starts to propagate down the chain: `catch`, `recover`, `finally`, and
  /// `await` all see it. Other consumers of a shared promise aren't affected. Cancelling a settled
  /// promise has no effect, except that its error, if it has no consumer, counts as handled: the
  /// errors of a promise that is cancelled aren't reported, whichever comes first. A handler that is
  /// running isn't interrupted; its promise is rejected when the handler returns.
  ///
  /// - Complexity: O(number of promises to which the request propagates).
  @inlinable
  public func cancel() { cell.cancelByName() }

  /// Whether cancellation of this promise was requested, by its consumers or by a call to
  /// ``cancel()``.
  @inlinable
  public var isCancelled: Bool { cell.isCancelled }
}

extension Thenable {
  /// Returns a promise with the same result whose cancellation doesn't affect this one.
  ///
  /// Cancelling the returned promise rejects only that promise. Use it to share work among callers.
  @inlinable
  public func uncancellable() -> Promise<Value> {
    Promise(
      cell: source.cell.derive(
        Value.self, .uncancellable
      ) { handler, source in handler.copyResult(of: source, as: Value.self) })
  }
}
