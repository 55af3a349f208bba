extension Promise {
  /// Calls `body` when this promise has settled, and passes the result on.
  ///
  /// `body` also runs when the promise is cancelled. If `body` returns a promise or another
  /// ``Thenable``, the returned promise waits for it; any other result is ignored. If `body`
  /// throws, or the thenable is rejected, the returned promise is rejected with that error.
  ///
  /// ```swift
  /// query(connection).finally { connection.close() }
  /// ```
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func finally<Result>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () throws -> Result
  ) -> Promise<Value> {
    finishedWaiting(
      Placed(body))
  }

  /// Calls `body` when this promise has settled, and passes the result on.
  ///
  /// See ``finally(_:)``.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func finally<Result>(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () throws -> Result
  ) -> Promise<Value> {
    finishedWaiting(Placed(body, on: executor))
  }

  /// Returns a promise with the same result, which waits for the result of `body` if that is a
  /// thenable.
  ///
  /// There's one generic operator, because with separate ones for closures that return nothing and
  /// closures that return a promise, the compiler would try every combination along a chain.
  @inlinable
  func finishedWaiting<Result>(
    _ body: Placed<@Sendable () throws -> Result>
  ) -> Promise<Value> {
    if Result.self == Void.self {
      return finished(body.map { body in CleanUpAction { _ = try body() } })
    }
    return finishedAfter(body.map { body in { Promise<Void>.end(of: try body()) } })
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
          let inner = try body().source.uncancellable().chained(
            .inPlace { _ in outcome })
          handler.adopt(inner.cell, as: Value.self)
        } catch {
          handler.fail(error)
        }
      })
  }
}

extension Promise where Value == Void {
  /// Returns a promise that waits for `result` if that is a thenable, and is rejected with the same
  /// error.
  @usableFromInline
  static func end(of result: Any) -> Promise<Void> {
    (result as? any Thenable)?.erased() ?? .value(())
  }

  /// Returns a promise that waits for `result` if that is a thenable, and is fulfilled even if the
  /// thenable is rejected.
  ///
  /// An unhandled error of `result` is reported like any other.
  @usableFromInline
  static func endIgnoringErrors(of result: Any) -> Promise<Void> {
    guard let thenable = result as? any Thenable else { return .value(()) }
    let (promise, resolver) = Promise<Void>.withResolvers()
    _ = thenable.erased().tapped(.inPlace(ResultAction { _ in resolver.fulfill() }))
    return promise
  }
}

extension Thenable {
  fileprivate func erased() -> Promise<Void> { source.asVoid() }
}

extension Guarantee {
  /// Calls `body` when this guarantee is fulfilled or broken, and passes the value on.
  ///
  /// If `body` returns a ``Guarantee`` or another ``Thenable``, the returned guarantee waits for
  /// it; if that is rejected and its error isn't handled, the error is reported. Any other result
  /// is ignored.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @discardableResult
  public func finally<Result>(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Result
  ) -> Guarantee<Value> {
    guaranteedFinallyWaiting(
      Placed(body))
  }

  /// Calls `body` when this guarantee is fulfilled or broken, and passes the value on.
  ///
  /// See ``finally(_:)``.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func finally<Result>(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable () -> Result
  ) -> Guarantee<Value> {
    guaranteedFinallyWaiting(Placed(body, on: executor))
  }

  @inlinable
  func guaranteedFinallyWaiting<Result>(
    _ body: Placed<@Sendable () -> Result>
  ) -> Guarantee<Value> {
    if Result.self == Void.self {
      return Guarantee(cell: base.finished(body.map { body in CleanUpAction { _ = body() } }).cell)
    }
    let waiting = base.finishedAfter(
      body.map { body in { Promise<Void>.endIgnoringErrors(of: body()) } })
    return Guarantee(cell: waiting.cell)
  }
}
