extension Promise {
  /// Returns a promise with the same result; `body` is called once before it settles.
  ///
  /// `body` is called when this promise is fulfilled, rejected, cancelled, or abandoned. The library
  /// uses this to detect that work has ended; `body` doesn't run in the context of this call.
  package func ending(with body: @escaping @Sendable () -> Void) -> Promise {
    noting(.end) { _ in body() }
  }

  /// Returns a promise with the same result; `body` is called with the error, if there is one, before it
  /// settles.
  ///
  /// If this promise is abandoned, `body` is released without being called. It doesn't run in the
  /// context of this call.
  package func noting(_ body: @escaping @Sendable ((any Error)?) -> Void) -> Promise {
    noting(.result, body)
  }

  private func noting(
    _ role: Role, _ body: @escaping @Sendable ((any Error)?) -> Void
  ) -> Promise {
    Promise(
      cell: cell.derive(
        Value.self, role.union(.contextFree), body: ErasedClosure(body)
      ) { handler, source in
        handler.takeBody(as: (@Sendable ((any Error)?) -> Void).self)(source.rejection?.error)
        handler.copyResult(of: source, as: Value.self)
      })
  }
}
