extension Thenable {
  /// Calls `body` with the result, without being a consumer of the promise.
  ///
  /// Use it for logs and statistics of a shared promise: when all consumers have cancelled, the
  /// producer is cancelled, and `body` receives the `CancellationError`. This doesn't count as
  /// handling an error.
  ///
  /// ```swift
  /// let request = fetchUser(id: 7)
  /// request.watch { result in log("user 7: \(result)") }
  /// ```
  ///
  /// If the rest of the chain must wait for the handler, use ``tap(_:)``.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  ///
  /// - Complexity: O(1).
  @inlinable
  public func watch(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void
  ) {
    watched(
      Placed(body))
  }

  /// Calls `body` with the result, without being a consumer of the promise.
  ///
  /// See ``watch(_:)``.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func watch(
    on executor: some PromiseExecutor,
    _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    watched(Placed(ResultAction(body), on: executor))
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
