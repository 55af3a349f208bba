extension Promise {
  /// Handles the error and ends the chain.
  ///
  /// The result is fulfilled once the error has been handled, or immediately if there was none, so
  /// that `finally` can follow. It can't fail.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable @discardableResult
  public func `catch`(
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (any Error) -> Void
  ) -> Guarantee<Void> {
    caught(Placed(body))
  }

  /// The same as `catch(_:)`; `body` runs on `executor`.
  @inlinable @discardableResult @_disfavoredOverload
  public func `catch`(
    on executor: some PromiseExecutor, _ body: @escaping @Sendable (any Error) -> Void
  ) -> Guarantee<Void> {
    caught(Placed(ErrorAction(body), on: executor))
  }

  /// The same as `catch(on:_:)`, except that an error that is marked as a cancellation is passed to
  /// `body` in place if `sparingCancellation` is true.
  @_spi(DropIns)
  @inlinable
  public func `catch`(
    on executor: QueueExecutor, sparingCancellation: Bool,
    _ body: @escaping @Sendable (any Error) -> Void
  ) -> Promise<Void> {
    caught(
      Placed(ErrorAction(body), on: executor),
      sparingCancellation ? .errorSparingCancellation : .error
    ).base
  }

  @inlinable
  func caught(
    _ body: Placed<ErrorAction>, _ role: Role = .error
  ) -> Guarantee<Void> {
    Guarantee<Void>(
      cell: cell.derive(
        Void.self, role, on: body.target, body: body.erased
      ) { handler, source in
        if let rejection = source.rejection {
          rejection.markHandled()
          handler.takeBody(as: ErrorAction.self).call(rejection.error)
        } else {
          handler.dropBody()
        }
        handler.finish(())
      })
  }

  /// Handles errors of the type `only`; other errors pass through.
  ///
  /// The result is fulfilled if there was no error or it was handled here.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func `catch`<E: Error>(
    only: E.Type, @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (E) -> Void
  ) -> Promise<Void> {
    caughtIfWanted(
      Placed(body).map { body in
        { error in
          guard let error = error as? E else { return false }
          try body(error)
          return true
        }
      })
  }

  /// Handles the error `only`; other errors pass through.
  ///
  /// The result is fulfilled if there was no error or it was handled here.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func `catch`<E: Error & Equatable>(
    only: E, @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () -> Void
  ) -> Promise<Void> {
    caughtIfWanted(
      Placed(body).map { body in
        { error in
          guard error as? E == only else { return false }
          try body()
          return true
        }
      })
  }

  /// Handles the errors for which `body` returns true; it doesn't throw.
  ///
  /// This is a single handler of this promise, rather than one of `asVoid()`, so that it runs in
  /// order with the other handlers of this promise.
  @inlinable
  func caughtIfWanted(
    _ body: Placed<@Sendable (any Error) throws -> Bool>
  ) -> Promise<Void> {
    Promise<Void>(
      cell: cell.derive(
        Void.self, .error, on: body.target, body: body.erased
      ) { handler, source in
        guard let rejection = source.rejection else {
          handler.dropBody()
          handler.finish(())
          return
        }
        typealias Body = @Sendable (any Error) throws -> Bool
        guard (try? handler.takeBody(as: Body.self)(rejection.error)) == true else {
          Instrumentation.noteSkippedClosure()
          handler.fail(rejection)
          return
        }
        rejection.markHandled()
        handler.finish(())
      })
  }

  /// Ends the chain and ignores its error, if any.
  ///
  /// This is a consumer of the promise, and the error counts as handled. If another chain handles the
  /// error, use ``Thenable/watch(_:)`` instead, which isn't a consumer.
  @inlinable
  public func ignoreErrors() { _ = caught(.inPlace(ErrorAction { _ in })) }
}
