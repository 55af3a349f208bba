extension Resolver {
  /// Calls `handler` when the promise is cancelled, so that the producer can stop its work.
  ///
  /// A nonisolated handler runs on the thread that cancels, or, after a time-out, on the global
  /// queue, before the promise is rejected with `CancellationError`, and may settle it otherwise. A
  /// handler that is isolated to an actor is sent there, and the promise is rejected without waiting
  /// for it. If the promise was cancelled before, the handler is called at once; when the promise
  /// settles, it is released unused. A handler that captures this resolver keeps it from noticing
  /// that it was dropped. It finds registered task-local values as they are now, not those of the code
  /// that cancels.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) () -> Void
  ) {
    let isolation = handler.isolation
    let plain = Isolated(handler).assumingIsolated(as: (@Sendable () -> Void).self)
    let handler = Instrumentation.restoringContext(in: plain)
    guard let isolation else { return cell.onCancel(handler) }
    let target = HandlerTarget(isolation: isolation)
    let kept = target.keeping(handler)
    cell.onCancel { _ = Promise<Void>.value(()).mapped(target) { try kept() } }
  }
}

extension GuaranteeResolver {
  /// Calls `handler` when nobody waits for the guarantee any more.
  ///
  /// See ``Resolver/onCancel(_:)``.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @Sendable @isolated(any) () -> Void
  ) { resolver.onCancel(handler) }
}
