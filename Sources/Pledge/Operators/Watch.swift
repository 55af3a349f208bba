extension Thenable {
  /// Calls `body` with the result, without being a consumer of the promise, and returns the same
  /// promise.
  ///
  /// Use it for logs and statistics, and for the end of a spinner: when all consumers have cancelled,
  /// the producer is cancelled, and `body` receives the `CancellationError`. This doesn't count as
  /// handling an error.
  ///
  /// ```swift
  /// let request = fetchUser(id: 7)
  /// request.watch { result in log("user 7: \(result)") }
  /// ```
  ///
  /// The rest of the chain doesn't wait for `body`. If it must, use ``get(_:)`` for a value, or
  /// ``tap(_:)`` for a result.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  ///
  /// - Complexity: O(1).
  @inlinable @discardableResult
  public func watch(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void
  ) -> Self {
    watched(Placed(body))
    return self
  }

  /// The same as ``watch(_:)``; `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func watch(
    on executor: some PromiseExecutor,
    _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Self {
    watched(Placed(ResultAction(body), on: executor))
    return self
  }

  @inlinable
  func watched(
    _ body: Placed<ResultAction<Value>>
  ) {
    let cell = source.cell
    cell.attach(
      Handler(
        .watcher, of: cell, on: body.target, body: body.erased,
        run: { watcher, source in
          let body = watcher.takeBody(as: ResultAction<Value>.self)
          if let rejection = source.rejection {
            body.call(.failure(rejection.error))
          } else {
            body.call(.success(source.value(as: Value.self)))
          }
        }))
  }
}
