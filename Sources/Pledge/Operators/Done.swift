extension Thenable {
  /// Calls `body` with the value; what comes of it has none.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func done(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> Void
  ) -> Promise<Void> {
    mapped(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (Value) throws -> Void).self))
  }

  /// Calls `body` with the value; what comes of it has none.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func done(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) throws -> Void
  ) -> Promise<Void> {
    mapped(executor._target, body)
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
    gotten(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (Value) throws -> Void).self))
  }

  /// Calls `body` with the value, and passes the value on.
  ///
  /// If this promise is rejected, or `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func get(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) throws -> Void
  ) -> Promise<Value> {
    gotten(executor._target, body)
  }

  @inlinable
  func gotten(
    _ target: _HandlerTarget, _ body: @escaping @Sendable (Value) throws -> Void
  ) -> Promise<Value> {
    mapped(target) { value in
      try body(value)
      return value
    }
  }

  /// Calls `body` with the outcome, whatever it is, and passes it on.
  ///
  /// Looking at an error this way does not count as handling it.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func tap(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void
  ) -> Promise<Value> {
    tapped(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (Result<Value, any Error>) -> Void).self))
  }

  /// Calls `body` with the outcome, whatever it is, and passes it on.
  ///
  /// Looking at an error this way does not count as handling it.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func tap(
    on executor: some PromiseExecutor,
    _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> {
    tapped(executor._target, body)
  }

  @inlinable
  func tapped(
    _ target: _HandlerTarget, _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> {
    Promise(
      cell: promise.cell.derive(
        Value.self, wants: Cell.Input.wantsValue | Cell.Input.wantsRejection, target: target,
        body: ErasedClosure(body)
      ) { handler, source in
        typealias Body = @Sendable (Result<Value, any Error>) -> Void
        if let rejection = source.rejection {
          handler.takeBody(as: Body.self)(.failure(rejection.error))
          handler.fail(rejection)
        } else {
          let value = source.value(as: Value.self)
          handler.takeBody(as: Body.self)(.success(value))
          handler.finish(value)
        }
      })
  }
}

extension Guarantee {
  /// Calls `body` with the value; what comes of it has none.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @discardableResult
  public func done(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Void
  ) -> Guarantee<Void> {
    guaranteedMap(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (Value) -> Void).self))
  }

  /// Calls `body` with the value; what comes of it has none.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func done(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) -> Void
  ) -> Guarantee<Void> {
    guaranteedMap(executor._target, body)
  }

  /// Calls `body` with the value, and passes the value on.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func get(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) -> Void
  ) -> Guarantee<Value> {
    guaranteedGet(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (Value) -> Void).self))
  }

  /// Calls `body` with the value, and passes the value on.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func get(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) -> Void
  ) -> Guarantee<Value> {
    guaranteedGet(executor._target, body)
  }

  @inlinable
  func guaranteedGet(
    _ target: _HandlerTarget, _ body: @escaping @Sendable (Value) -> Void
  ) -> Guarantee<Value> {
    guaranteedMap(target) { value in
      body(value)
      return value
    }
  }
}
