// There are two names, as with `then` and `map`: the closure of `recover` returns a promise, and
// the closure of `replaceError` a value. With one name for both, the compiler would try every
// combination of the two along a chain.

extension Promise {
  /// Replaces an error with the promise that `body` returns.
  ///
  /// A value passes through. If `body` throws, the returned promise is rejected with that error.
  /// Cancelling the returned promise also cancels the one that `body` returned, unless that has
  /// other consumers.
  ///
  /// ```swift
  /// downloadPage(from: "mirror-1").recover { _ in downloadPage(from: "mirror-2") }
  /// ```
  ///
  /// To replace the error with a value, use ``replaceError(_:)``.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func recover(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (any Error) throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredWithPromise(
      HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (any Error) throws -> Promise<Value>).self))
  }

  /// Replaces an error with the promise that `body` returns.
  ///
  /// See `recover(_:)`.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func recover(
    on executor: some PromiseExecutor,
    _ body: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredWithPromise(HandlerTarget(executor), body)
  }

  /// Replaces an error with the guarantee that `body` returns.
  ///
  /// A value passes through. The result can't fail.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @_disfavoredOverload
  public func recover(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (any Error) -> Guarantee<Value>
  ) -> Guarantee<Value> {
    recoveredWithGuarantee(
      HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (any Error) -> Guarantee<Value>).self))
  }

  /// Replaces an error with the guarantee that `body` returns.
  ///
  /// A value passes through. The result can't fail. You don't need to pass `type`: because of this
  /// parameter, the compiler prefers a promise when `body` returns `.value(…)`.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func recover(
    on executor: some PromiseExecutor, as type: Guarantee<Value>.Type = Guarantee<Value>.self,
    _ body: @escaping @Sendable (any Error) -> Guarantee<Value>
  ) -> Guarantee<Value> {
    recoveredWithGuarantee(HandlerTarget(executor), body)
  }

  /// Replaces an error of the type `only` with the promise that `body` returns.
  ///
  /// A value and all other errors pass through. If `body` throws, the returned promise is rejected
  /// with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func recover<E: Error>(
    only: E.Type,
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (E) throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredOnlyWithPromise(
      HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable (E) throws -> Promise<Value>).self))
  }

  /// Replaces an error of the type `only` with the promise that `body` returns.
  ///
  /// A value and all other errors pass through. If `body` throws, the returned promise is rejected
  /// with that error.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func recover<E: Error>(
    on executor: some PromiseExecutor, only: E.Type,
    _ body: @escaping @Sendable (E) throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredOnlyWithPromise(HandlerTarget(executor), body)
  }

  /// Replaces the error `only` with the promise that `body` returns.
  ///
  /// A value and all other errors pass through. If `body` throws, the returned promise is rejected
  /// with that error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func recover<E: Error & Equatable>(
    only: E,
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredEqualWithPromise(
      only, HandlerTarget(isolation: body.isolation),
      Isolated(body).assumingIsolated(as: (@Sendable () throws -> Promise<Value>).self))
  }

  /// Replaces the error `only` with the promise that `body` returns.
  ///
  /// A value and all other errors pass through. If `body` throws, the returned promise is rejected
  /// with that error.
  ///
  /// **Execution.** `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func recover<E: Error & Equatable>(
    on executor: some PromiseExecutor, only: E,
    _ body: @escaping @Sendable () throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredEqualWithPromise(only, HandlerTarget(executor), body)
  }
}

// MARK: - Implementation

extension Promise {
  /// Replaces the errors that `isWanted` accepts; `isWanted` also runs on the executor.
  @inlinable
  func recovered(
    _ target: HandlerTarget,
    when isWanted: @escaping @Sendable (any Error) -> Bool = { _ in true },
    _ body: @escaping @Sendable (any Error) throws -> Value
  ) -> Promise<Value> {
    recoveredWithPromise(target, when: isWanted) { .value(try body($0)) }
  }

  @inlinable
  func recoveredWithPromise(
    _ target: HandlerTarget,
    when isWanted: @escaping @Sendable (any Error) -> Bool = { _ in true },
    _ body: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> {
    // The closure returns nil for an error that `isWanted` doesn't accept.
    let attempt: @Sendable (any Error) throws -> Promise<Value>? = { error in
      isWanted(error) ? try body(error) : nil
    }
    return Promise(
      cell: cell.derive(
        Value.self, wants: Cell.Input.wantsRejection, target: target, body: ErasedClosure(attempt)
      ) { handler, source in
        guard let rejection = source.rejection, handler.body != nil else {
          handler.dropBody()
          handler.copyResult(of: source, as: Value.self)
          return
        }
        let inner: Promise<Value>
        do {
          guard
            let replacement = try handler.takeBody(
              as: (@Sendable (any Error) throws -> Promise<Value>?).self)(rejection.error)
          else {
            handler.fail(rejection)
            return
          }
          rejection.markHandled()
          inner = replacement
        } catch {
          rejection.markHandled()
          handler.fail(error)
          return
        }
        handler.adopt(inner.cell, as: Value.self)
      })
  }

  @inlinable
  func recoveredWithGuarantee(
    _ target: HandlerTarget, _ body: @escaping @Sendable (any Error) -> Guarantee<Value>
  ) -> Guarantee<Value> {
    Guarantee(cell: recoveredWithPromise(target) { body($0).base }.cell)
  }

  @inlinable
  func guaranteedRecover(
    _ target: HandlerTarget, _ body: @escaping @Sendable (any Error) -> Value
  ) -> Guarantee<Value> {
    Guarantee(cell: recovered(target, body).cell)
  }

  @inlinable
  func recoveredOnly<E: Error>(
    _ target: HandlerTarget, _ body: @escaping @Sendable (E) throws -> Value
  ) -> Promise<Value> {
    recoveredOnlyWithPromise(target) { .value(try body($0)) }
  }

  @inlinable
  func recoveredOnlyWithPromise<E: Error>(
    _ target: HandlerTarget, _ body: @escaping @Sendable (E) throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredWithPromise(target, when: { $0 is E }) { error in
      guard let error = error as? E else { throw error }
      return try body(error)
    }
  }

  @inlinable
  func recoveredEqual<E: Error & Equatable>(
    _ only: E, _ target: HandlerTarget, _ body: @escaping @Sendable () throws -> Value
  ) -> Promise<Value> {
    recovered(target, when: { $0 as? E == only }) { _ in try body() }
  }

  @inlinable
  func recoveredEqualWithPromise<E: Error & Equatable>(
    _ only: E, _ target: HandlerTarget, _ body: @escaping @Sendable () throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredWithPromise(target, when: { $0 as? E == only }) { _ in try body() }
  }
}
