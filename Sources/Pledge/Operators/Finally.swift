extension Promise {
  /// Calls `body` when this promise has settled, whatever the outcome, and passes the outcome on.
  ///
  /// Runs also when the promise is cancelled. If `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func finally(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () throws -> Void
  ) -> Promise<Value> {
    finished(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable () throws -> Void).self))
  }

  /// Calls `body` when this promise has settled, whatever the outcome, and passes the outcome on.
  ///
  /// Runs also when the promise is cancelled. If `body` throws, the result is rejected with that error.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func finally(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise<Value> {
    finished(executor._target, body)
  }

  /// Calls `body` when this promise has settled, waits for what it returns, and passes the outcome on.
  ///
  /// Runs also when the promise is cancelled. If `body` throws, or what it returns is rejected, the result
  /// is rejected with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func finally<T: Thenable>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () throws -> T
  ) -> Promise<Value> {
    finishedAfter(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable () throws -> T).self))
  }

  /// Calls `body` when this promise has settled, waits for what it returns, and passes the outcome on.
  ///
  /// Runs also when the promise is cancelled. If `body` throws, or what it returns is rejected, the result
  /// is rejected with that error.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func finally<T: Thenable>(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () throws -> T
  ) -> Promise<Value> {
    finishedAfter(executor._target, body)
  }

  @inlinable
  func finished(
    _ target: _HandlerTarget, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise<Value> {
    Promise(
      cell: cell.derive(
        Value.self, wants: Cell.Input.wantsValue | Cell.Input.wantsRejection, target: target,
        body: ErasedClosure(body)
      ) { handler, source in
        do {
          try handler.takeBody(as: (@Sendable () throws -> Void).self)()
        } catch {
          handler.fail(error)
          return
        }
        if let rejection = source.rejection {
          handler.fail(rejection)
        } else {
          handler.finish(source.value(as: Value.self))
        }
      })
  }

  @inlinable
  func finishedAfter<T: Thenable>(
    _ target: _HandlerTarget, _ body: @escaping @Sendable () throws -> T
  ) -> Promise<Value> {
    Promise(
      cell: cell.derive(
        Value.self, wants: Cell.Input.wantsValue | Cell.Input.wantsRejection, target: target,
        body: ErasedClosure(body)
      ) { handler, source in
        guard handler.body != nil else {
          handler.copyResult(of: source, as: Value.self)
          return
        }
        let body = handler.takeBody(as: (@Sendable () throws -> T).self)
        let outcome = Promise(cell: source)
        do {
          // The clean-up is not to be cancelled along with what it cleans up after.
          let inner = try body().promise.uncancellable().chained(_HandlerTarget(immediate: ())) { _ in
            outcome
          }
          handler.adopt(inner.cell, as: Value.self)
        } catch {
          handler.fail(error)
        }
      })
  }
}

extension Guarantee {
  /// Calls `body` when this guarantee is fulfilled, or broken, and passes the value on.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @discardableResult
  public func finally(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Void
  ) -> Guarantee<Value> {
    guaranteedFinally(
      _HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable () -> Void).self))
  }

  /// Calls `body` when this guarantee is fulfilled, or broken, and passes the value on.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func finally(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () -> Void
  ) -> Guarantee<Value> {
    guaranteedFinally(executor._target, body)
  }

  @inlinable
  func guaranteedFinally(
    _ target: _HandlerTarget, _ body: @escaping @Sendable () -> Void
  ) -> Guarantee<Value> {
    Guarantee(cell: promise.finished(target, body).cell)
  }
}
