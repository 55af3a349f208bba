// Abandonment: a way to settle a promise without calling a closure. It propagates like a rejection:
// the handlers' closures are released without being called, and their promises are abandoned in
// turn. To user code, an abandoned promise looks pending forever.

extension Cell {
  /// Settles this cell, which belongs to a resolver, without calling a closure.
  @usableFromInline
  final func abandon() {
    if claim() { publish(.abandonment) }
  }

  /// Whether the promise is pending or abandoned.
  @usableFromInline
  final var looksPending: Bool { !isSettled || rejection?.isAbandonment == true }
}

extension Promise {
  /// Calls `handler` on `executor` once, with the result, which for an abandoned promise is a
  /// ``BrokenPromiseError``.
  ///
  /// This is for bridges to libraries whose promises must eventually settle.
  @inlinable
  package func observeOutcome(
    on executor: some PromiseExecutor,
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let target = HandlerTarget(executor)
    if cell.isReady(for: target), let call = InPlaceCall() {
      defer { call.end() }
      return handler(cell.handledResult())
    }
    cell.attach(
      Handler(
        input: Cell.Input.wantsValue | Cell.Input.wantsRejection | Cell.Input.hearsAbandonment
          | target.flags, source: cell, target: target.object,
        body: ErasedClosure(ResultAction(handler)),
        run: { observer, source in
          let body = observer.takeBody(as: ResultAction<Value>.self)
          body.call(source.handledResult())
        }))
  }
}
