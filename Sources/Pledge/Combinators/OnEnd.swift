extension Promise {
  /// A promise with the same outcome as `promise`; `body` is called before it settles.
  ///
  /// `body` is called once when the promise has come to an end, whatever that is: fulfilled,
  /// rejected, cancelled or abandoned. The library's own services hear through it that work has
  /// ended, in one place.
  static func onEnd(
    of promise: Promise, target: HandlerTarget = HandlerTarget(immediate: ()),
    _ body: @escaping @Sendable () -> Void
  ) -> Promise {
    let wants =
      Cell.Input.wantsValue | Cell.Input.wantsRejection | Cell.Input.hearsAbandonment
    return Promise(
      cell: promise.cell.derive(
        Value.self, wants: wants, target: target, body: ErasedClosure(body)
      ) { handler, source in
        handler.takeBody(as: (@Sendable () -> Void).self)()
        handler.copyResult(of: source, as: Value.self)
      })
  }

  /// A promise with the same outcome; `body` is called before it settles, in whatever way.
  package func ending(with body: @escaping @Sendable () -> Void) -> Promise {
    .onEnd(of: self, body)
  }
}
