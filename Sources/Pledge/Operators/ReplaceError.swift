extension Promise {
  /// Replaces any error with `value`.
  ///
  /// A value passes through. The result can't fail, so it's a guarantee.
  ///
  /// ```swift
  /// let count = fetchNews().map(\.count).replaceError(with: 0)
  /// ```
  @inlinable @_disfavoredOverload
  public func replaceError(with value: Value) -> Guarantee<Value> {
    guaranteedRecover(.inPlace { _ in value })
  }

  /// Replaces an error with the value that `body` returns.
  ///
  /// A value passes through. The result can't fail. If the replacement can fail, or isn't available
  /// yet, use `recover(_:)`.
  ///
  /// ```swift
  /// let name: Guarantee<String> = fetchName().replaceError { _ in "guest" }
  /// ```
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func replaceError(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (any Error) -> Value
  ) -> Guarantee<Value> {
    guaranteedRecover(Placed(body))
  }

  /// The same as `replaceError(_:)`; `body` runs on `executor`.
  @inlinable @_spi(DropIns)
  public func replaceError(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (any Error) -> Value
  ) -> Guarantee<Value> {
    guaranteedRecover(Placed(body, on: executor))
  }

  /// Replaces an error of the type `only` with the value that `body` returns.
  ///
  /// A value and all other errors pass through. If `body` throws, the returned promise is rejected
  /// with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func replaceError<E: Error>(
    only: E.Type,
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (E) throws -> Value
  ) -> Promise<Value> {
    recovered(
      Placed(body).map { body in { error in try (error as? E).map { .value(try body($0)) } } })
  }

  /// Replaces an error with the error that `transform` returns.
  ///
  /// A value passes through. If `transform` throws, the returned promise is rejected with the
  /// thrown error. A `CancellationError` is passed to `transform` like any other error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func mapError(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (any Error) throws -> any Error
  ) -> Promise<Value> {
    recovered(Placed(transform).map { transform in { throw try transform($0) } })
  }

  @inlinable
  func guaranteedRecover(
    _ body: Placed<@Sendable (any Error) throws -> Value>
  ) -> Guarantee<Value> {
    Guarantee(cell: recovered(body.map { body in { .value(try body($0)) } }).cell)
  }
}
