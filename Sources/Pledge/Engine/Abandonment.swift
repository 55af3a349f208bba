// Abandonment: one more way to settle a promise, that calls no closure. It flows down like a
// rejection: the handlers' closures are released uncalled, and their promises are abandoned in turn.
// To the program an abandoned promise looks pending, for ever.

extension Cell {
  /// Settles this cell, which belongs to a resolver, so that no closure hears of it.
  @usableFromInline
  final func abandon() {
    if claim() { publish(.abandonment) }
  }

  /// Whether the promise is pending, or abandoned, which looks the same.
  @usableFromInline
  final var looksPending: Bool { !isSettled || rejection?.isAbandonment == true }
}

extension Promise {
  /// Calls `handler` in place with the outcome, once: that of an abandoned promise is a
  /// ``BrokenPromiseError``.
  ///
  /// For bridges to libraries whose promises must be settled in the end. Otherwise as
  /// ``observe(on:_:)``.
  @inlinable
  package func observeOutcome(
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let target = HandlerTarget(programInPlace: ())
    if cell.isReady(for: target), let call = InPlaceCall() {
      defer { call.end() }
      return handler(cell.handledResult())
    }
    cell.attach(
      Handler(
        input: Cell.Input.wantsValue | Cell.Input.wantsRejection | Cell.Input.hearsAbandonment
          | target.flags, source: cell, target: nil, body: ErasedClosure(handler),
        run: { observer, source in
          let body = observer.takeBody(
            as: (@Sendable (Result<Value, any Error>) -> Void).self)
          body(source.handledResult())
        }))
  }
}
