extension Thenable {
  /// Calls `body` with the value; the returned promise has no value.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func done(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> Void
  ) -> Promise<Void> {
    mapped(Placed(body))
  }

  /// The same as ``done(_:)``; `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func done(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) throws -> Void
  ) -> Promise<Void> {
    mapped(Placed(body, on: executor))
  }

  /// Calls `body` with the value, and passes the value on.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func get(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> Void
  ) -> Promise<Value> {
    mapped(
      Placed(body).map { body in
        { value in
          try body(value)
          return value
        }
      })
  }

  /// Calls `body` with the result, and passes it on.
  ///
  /// This doesn't count as handling an error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func tap(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void
  ) -> Promise<Value> {
    tapped(Placed(body))
  }

  /// The same as ``tap(_:)``; `body` runs on `executor`.
  @inlinable @_spi(DropIns)
  public func tap(
    on executor: some PromiseExecutor,
    _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> {
    tapped(Placed(ResultAction(body), on: executor))
  }

  @inlinable
  func tapped(
    _ body: Placed<ResultAction<Value>>
  ) -> Promise<Value> {
    Promise(
      cell: source.cell.derive(
        Value.self, .result, on: body.target, body: body.erased
      ) { handler, source in
        if let rejection = source.rejection {
          handler.takeBody(as: ResultAction<Value>.self).call(.failure(rejection.error))
          handler.fail(rejection)
        } else {
          let value = source.value(as: Value.self)
          handler.takeBody(as: ResultAction<Value>.self).call(.success(value))
          handler.finish(value)
        }
      })
  }
}

extension Guarantee {
  /// Calls `body` with the value; the returned promise has no value.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @discardableResult
  public func done(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Void
  ) -> Guarantee<Void> {
    guaranteedMap(Placed(body))
  }

  /// The same as `done(_:)`; `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func done(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) -> Void
  ) -> Guarantee<Void> {
    guaranteedMap(Placed(body, on: executor))
  }
}

// With these overloads, functions that return whether they had an effect, such as
// `Resolver.fulfill`, can be handlers: `promise.done(resolver.fulfill).catch(resolver.reject)`.

extension Thenable {
  /// The same as ``done(_:)``, except that it ignores what `body` returns.
  @inlinable @_disfavoredOverload
  public func done(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> Bool
  ) -> Promise<Void> {
    mapped(Placed(body).map { body in { _ = try body($0) } })
  }
}

extension Promise {
  /// The same as ``catch(_:)``, except that it ignores what `body` returns.
  @inlinable @discardableResult @_disfavoredOverload
  public func `catch`(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (any Error) -> Bool
  ) -> Guarantee<Void> {
    caught(Placed(body).map { body in ErrorAction { _ = try? body($0) } })
  }
}
