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
    recoveredWithPromise(Placed(body))
  }

  /// The same as `recover(_:)`; `body` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func recover(
    on executor: some PromiseExecutor,
    _ body: @escaping @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> {
    recoveredWithPromise(Placed(body, on: executor))
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
    Guarantee(cell: recovered(Placed(body).map { body in { try body($0).base } }).cell)
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
    recovered(Placed(body).map { body in { error in try (error as? E).map { try body($0) } } })
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
    recovered(Placed(body).map { body in { error in error as? E == only ? try body() : nil } })
  }
}

// MARK: - Implementation

extension Promise {
  /// Replaces each error for which `body` doesn't return nil; other errors are passed on.
  ///
  /// An error that is marked as a cancellation is passed to `body` in place if
  /// `sparingCancellation` is true.
  @_spi(DropIns)
  @inlinable
  public func recover(
    on executor: QueueExecutor, sparingCancellation: Bool,
    _ body: @escaping @Sendable (any Error) throws -> Promise<Value>?
  ) -> Promise<Value> {
    recovered(
      Placed(body, on: executor), sparingCancellation ? .errorSparingCancellation : .error)
  }

  /// Replaces each error for which `body` doesn't return nil; other errors are passed on.
  @inlinable
  func recovered(
    _ body: Placed<@Sendable (any Error) throws -> Promise<Value>?>, _ role: Role = .error
  ) -> Promise<Value> {
    Promise(
      cell: cell.derive(
        Value.self, role, on: body.target, body: body.erased
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
            Instrumentation.noteSkippedClosure()
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
  func recoveredWithPromise(
    _ body: Placed<@Sendable (any Error) throws -> Promise<Value>>
  ) -> Promise<Value> {
    recovered(body.map { body in { try body($0) } })
  }
}
