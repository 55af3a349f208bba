extension Promise {
  /// Returns a promise for the result of applying `transform` to this promise's result.
  ///
  /// `transform` receives the value or the error as a `Result`, and can return a value for either;
  /// a `CancellationError` is an error like any other. The error counts as handled. If `transform`
  /// throws, the returned promise is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  public func mapResult<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) throws -> U
  ) -> Promise<U> {
    settled().mapped(
      HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(
        as: (@Sendable (Result<Value, any Error>) throws -> U).self))
  }

  /// Returns a promise for the result of applying `transform` to this promise's result.
  ///
  /// See ``mapResult(_:)``.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @_disfavoredOverload
  public func mapResult<U: Sendable>(
    on executor: some PromiseExecutor,
    _ transform: @escaping @Sendable (Result<Value, any Error>) throws -> U
  ) -> Promise<U> {
    settled().mapped(HandlerTarget(executor), transform)
  }

  /// Returns a promise for the result of applying `transform`, on the main actor, to this promise's
  /// result.
  ///
  /// See ``mapResult(_:)``.
  public func mapResult<U: Sendable>(
    on executor: MainExecutor,
    _ transform: @escaping @MainActor @Sendable (Result<Value, any Error>) throws -> U
  ) -> Promise<U> { mapResult(transform) }

  /// A promise of the outcome, which cannot fail but by being cancelled itself.
  func settled() -> Promise<Result<Value, any Error>> {
    let immediate = HandlerTarget(immediate: ())
    return mapped(immediate) { Result<Value, any Error>.success($0) }
      .recovered(immediate) { .failure($0) }
  }
}
