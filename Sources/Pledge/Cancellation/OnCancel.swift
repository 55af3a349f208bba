extension Resolver {
  /// Calls `handler` when the promise is cancelled, so that the producer can stop its work.
  ///
  /// If the promise has already been cancelled, the handler is called immediately. When the promise
  /// settles, the handler is released without being called. A handler that captures this resolver
  /// keeps it alive, so that dropping all other references doesn't reject the promise.
  ///
  /// **Execution.** A handler without isolation runs before the promise is rejected with
  /// `CancellationError`, on the thread that cancels or, after a timeout, on the global queue; a
  /// timeout with a clock of your own, or with the timers of an event loop, cancels where the clock
  /// or the loop calls it. The handler can settle the promise itself. A handler that is isolated to
  /// an actor, as in `@MainActor` code, runs on that actor, and the promise is rejected without
  /// waiting for it. The handler sees the registered task-local values of the code that calls this
  /// method, not those of the code that cancels.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) () -> Void
  ) {
    let isIsolated = handler.isolation != nil
    var action = Placed<CleanUpAction>(handler)
    if let context = Instrumentation.snapshot() {
      action = action.map { action in CleanUpAction { context.restore { try? action.call() } } }
    }
    guard isIsolated else { return cell.onCancel(action.closure.call) }
    let (target, keeper) = (action.target, action.keeper())
    cell.onCancel { target.schedule(ClosureJob { try? keeper.closure.call() }) }
  }
}

extension GuaranteeResolver {
  /// The same as ``Resolver/onCancel(_:)``, when all consumers of the guarantee have cancelled.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) () -> Void
  ) { resolver.onCancel(handler) }
}
