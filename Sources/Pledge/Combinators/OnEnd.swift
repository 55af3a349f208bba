extension Promise {
  /// Returns a promise with the same result as `promise`; `body` is called before it settles.
  ///
  /// `body` is called once, when `promise` is fulfilled, rejected, cancelled, or abandoned. The
  /// library uses this to detect that work has ended.
  static func onEnd(of promise: Promise, _ body: @escaping @Sendable () -> Void) -> Promise {
    Promise(
      cell: promise.cell.derive(
        Value.self, .end, body: ErasedClosure(body)
      ) { handler, source in
        handler.takeBody(as: (@Sendable () -> Void).self)()
        handler.copyResult(of: source, as: Value.self)
      })
  }

  /// Returns a promise with the same result; `body` is called once before it settles.
  package func ending(with body: @escaping @Sendable () -> Void) -> Promise {
    .onEnd(of: self, body)
  }
}
