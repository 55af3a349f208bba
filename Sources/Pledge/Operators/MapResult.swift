extension Promise {
  /// Returns a promise for the result of applying `transform` to this promise's result.
  ///
  /// `transform` receives the value or the error as a `Result`, and can return a value for either;
  /// a `CancellationError` is an error like any other. The error counts as handled. If `transform`
  /// throws, the returned promise is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func mapResult<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) throws -> U
  ) -> Promise<U> {
    resultMapped(Placed(transform))
  }

  /// The same as ``mapResult(_:)``; `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func mapResult<U: Sendable>(
    on executor: some PromiseExecutor,
    _ transform: @escaping @Sendable (Result<Value, any Error>) throws -> U
  ) -> Promise<U> {
    resultMapped(Placed(transform, on: executor))
  }

  /// Returns a promise for the result of applying `transform`, in place, to the result of this
  /// promise, which is in an adapter to another library.
  ///
  /// As `mapResult`, with two exceptions: cancelling the returned promise doesn't affect this one,
  /// whose library may not know cancellation, and if this promise is abandoned, `transform` receives
  /// a ``BrokenPromiseError``.
  @_spi(DropIns)
  public func converted<U: Sendable>(
    _ transform: @escaping @Sendable (Result<Value, any Error>) throws -> U
  ) -> Promise<U> {
    resultMapped(Placed(transform, on: .immediate), [.end, .uncancellable])
  }

  /// This is a single handler of this promise, rather than one of `settled()`, so that it runs in
  /// order with the other handlers of this promise.
  @inlinable
  func resultMapped<U: Sendable>(
    _ transform: Placed<@Sendable (Result<Value, any Error>) throws -> U>, _ role: Role = .result
  ) -> Promise<U> {
    Promise<U>(
      cell: cell.derive(
        U.self, role, on: transform.target, body: transform.erased
      ) { handler, source in
        let result: U
        do {
          // The closure is released at the end of this statement, before the promise settles.
          result = try handler.takeBody(
            as: (@Sendable (Result<Value, any Error>) throws -> U).self)(source.handledResult())
        } catch {
          handler.fail(error)
          return
        }
        handler.finish(result)
      })
  }

  /// Returns a promise for the result as a value, which can fail only if it's cancelled itself.
  @inlinable
  func settled() -> Promise<Result<Value, any Error>> {
    Promise<Result<Value, any Error>>(
      cell: cell.derive(
        Result<Value, any Error>.self, .copy
      ) { handler, source in
        handler.finish(source.handledResult() as Result<Value, any Error>)
      })
  }
}
