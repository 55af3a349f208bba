extension Thenable {
  /// Returns a promise for the result of the promise that `body` returns.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error. If
  /// `body` returns the same promise as this call, that promise is rejected with
  /// ``PromiseError/returnedItself`` (Promises/A+ 2.3.1). Cancelling the result also cancels the
  /// promise that `body` returned, unless that has other consumers. An endless chain through `then`
  /// takes constant memory.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func then<U: Sendable>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> Promise<U>
  ) -> Promise<U> {
    chained(Placed(body))
  }

  /// The same as `then(_:)`; `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func then<U: Sendable>(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) throws -> Promise<U>
  ) -> Promise<U> {
    chained(Placed(body, on: executor))
  }

  /// Returns a promise for the result of the thenable that `body` returns.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @_disfavoredOverload
  public func then<T: Thenable>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> T
  ) -> Promise<T.Value> {
    chained(Placed(body).map { body in { try body($0).source } })
  }

  @inlinable
  func chained<U: Sendable>(
    _ body: Placed<@Sendable (Value) throws -> Promise<U>>
  ) -> Promise<U> {
    Promise(
      cell: self.source.cell.derive(
        U.self, .value, on: body.target, body: body.erased
      ) { handler, source in
        guard handler.body != nil else {
          // The second run: `source` is the promise that `body` returned.
          handler.copyResult(of: source, as: U.self)
          return
        }
        let inner: Promise<U>
        do {
          inner = try handler.takeBody(as: (@Sendable (Value) throws -> Promise<U>).self)(
            source.value(as: Value.self))
        } catch {
          handler.fail(error)
          return
        }
        handler.adopt(inner.cell, as: U.self)
      })
  }
}

extension Guarantee {
  /// Returns a guarantee for the value of the guarantee that `body` returns.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func then<U: Sendable>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Guarantee<U>
  ) -> Guarantee<U> {
    guaranteedThen(Placed(body))
  }

  /// The same as `then(_:)`; `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func then<U: Sendable>(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) -> Guarantee<U>
  ) -> Guarantee<U> {
    guaranteedThen(Placed(body, on: executor))
  }

  @inlinable
  func guaranteedThen<U: Sendable>(
    _ body: Placed<@Sendable (Value) throws -> Guarantee<U>>
  ) -> Guarantee<U> {
    Guarantee<U>(cell: chained(body.map { body in { try body($0).base } }).cell)
  }
}
