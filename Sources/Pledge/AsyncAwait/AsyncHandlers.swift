// Operators with `async` closures. They have their own names, because an overload that takes an
// `async` closure would also accept every synchronous closure, and hide the errors in it.

extension Thenable {
  /// Returns a promise for the result of applying an asynchronous `transform` to this promise's
  /// value.
  ///
  /// If this promise is rejected, or `transform` throws, the returned promise is rejected with that
  /// error. Cancelling the returned promise rejects it immediately and cancels the task, even if
  /// `transform` ignores the cancellation.
  ///
  /// ```swift
  /// fetchUser(id: 7).asyncMap { user in try await store.save(user) }
  /// ```
  ///
  /// **Execution.** `transform` runs in its own task, in the isolation in which it was written.
  public func asyncMap<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value) async throws -> U
  ) -> Promise<U> {
    chained(.inPlace(IsolatedOperation(transform).start))
  }
}

extension Promise {
  /// Replaces an error with the value that an asynchronous `body` returns.
  ///
  /// A value passes through. If `body` throws, the returned promise is rejected with that error.
  /// Cancelling the returned promise rejects it immediately and cancels the task, even if `body`
  /// ignores the cancellation.
  ///
  /// **Execution.** `body` runs in its own task, in the isolation in which it was written.
  public func asyncRecover(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (any Error) async throws -> Value
  ) -> Promise<Value> {
    recoveredWithPromise(.inPlace(IsolatedOperation(body).start))
  }

  /// Calls an asynchronous `body` when this promise has settled, waits for it, and passes the
  /// result on.
  ///
  /// `body` also runs when the promise is cancelled, and isn't cancelled along with it. If `body`
  /// throws, the returned promise is rejected with that error.
  ///
  /// **Execution.** `body` runs in its own task, in the isolation in which it was written.
  public func asyncFinally(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () async throws -> Void
  ) -> Promise<Value> {
    finishedAfter(.inPlace(IsolatedOperation(body).start))
  }
}

extension Guarantee {
  /// Returns a guarantee for the result of applying an asynchronous `transform` to this guarantee's
  /// value.
  ///
  /// **Execution.** `transform` runs in its own task, in the isolation in which it was written.
  public func asyncMap<U: Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value) async -> U
  ) -> Guarantee<U> {
    let transform = IsolatedOperation(transform)
    return guaranteedThen(.inPlace { Guarantee<U>(cell: transform.start($0).cell) })
  }

  /// Calls an asynchronous `body` when this guarantee is fulfilled or broken, waits for it, and
  /// passes the value on.
  ///
  /// **Execution.** `body` runs in its own task, in the isolation in which it was written.
  @discardableResult
  public func asyncFinally(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () async -> Void
  ) -> Guarantee<Value> {
    Guarantee(cell: base.finishedAfter(.inPlace(IsolatedOperation(body).start)).cell)
  }
}
