// There are two names, as with `done` and `then`: the closure of `finally` returns nothing, and that
// of `finallyThen` a promise to wait for. With one name for both, the compiler would try every
// combination of the two along a chain, and a promise could be dropped without a message.

extension Promise {
  /// Calls `body` when this promise has settled, and passes the result on.
  ///
  /// `body` also runs when the promise is cancelled. If `body` throws, the returned promise is
  /// rejected with that error. For a clean-up that returns a promise, use ``finallyThen(_:)``; for
  /// one that awaits, ``asyncFinally(_:)``.
  ///
  /// ```swift
  /// fetchNews().finally { spinner.hide() }
  /// ```
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func finally(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () throws -> Void
  ) -> Promise<Value> {
    finished(Placed(body))
  }

  /// The same as ``finally(_:)``; `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func finally(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise<Value> {
    finished(Placed(CleanUpAction(body), on: executor))
  }

  /// Calls `body` when this promise has settled, waits for the promise that `body` returns, and
  /// passes the result on.
  ///
  /// `body` also runs when the promise is cancelled; what it returns isn't cancelled along with it.
  /// If `body` throws, or its promise is rejected, the returned promise is rejected with that error.
  ///
  /// ```swift
  /// query(connection).finallyThen { connection.close() }
  /// ```
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func finallyThen<T: Thenable>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () throws -> T
  ) -> Promise<Value> {
    finishedAfter(Placed(body))
  }

  /// The same as ``finallyThen(_:)``; `body` runs on `executor`.
  @inlinable @_spi(DropIns)
  public func finallyThen<T: Thenable>(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () throws -> T
  ) -> Promise<Value> {
    finishedAfter(Placed(body, on: executor))
  }

  @inlinable
  func finished(
    _ body: Placed<CleanUpAction>
  ) -> Promise<Value> {
    Promise(
      cell: cell.derive(
        Value.self, .result, on: body.target, body: body.erased
      ) { handler, source in
        do {
          try handler.takeBody(as: CleanUpAction.self).call()
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
    _ body: Placed<@Sendable () throws -> T>
  ) -> Promise<Value> {
    Promise(
      cell: cell.derive(
        Value.self, .result, on: body.target, body: body.erased
      ) { handler, source in
        guard handler.body != nil else {
          handler.copyResult(of: source, as: Value.self)
          return
        }
        let body = handler.takeBody(as: (@Sendable () throws -> T).self)
        let outcome = Promise(cell: source)
        do {
          // The cleanup must not be cancelled along with the work that it follows.
          let awaited = try body().source
          if awaited.cell === handler { throw PromiseError.returnedItself }
          let cleanup = awaited.chained(.inPlace { _ in outcome })
          let inner = cleanup.cell.derive(Value.self, .cleanup) { handler, source in
            handler.copyResult(of: source, as: Value.self)
          }
          handler.adopt(inner, as: Value.self)
        } catch {
          handler.fail(error)
        }
      })
  }
}

extension Guarantee {
  /// Calls `body` when this guarantee is fulfilled or broken, and passes the value on.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @discardableResult
  public func finally(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Void
  ) -> Guarantee<Value> {
    Guarantee(cell: base.finished(Placed(body)).cell)
  }

  /// The same as `finally(_:)`; `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func finally(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () -> Void
  ) -> Guarantee<Value> {
    Guarantee(cell: base.finished(Placed(CleanUpAction(body), on: executor)).cell)
  }
}
