extension Promise {
  /// A promise with the same outcome as `promise`; `body` is called before it settles.
  ///
  /// `body` is called once when the promise has come to an end, whatever that is: fulfilled,
  /// rejected or cancelled. The library's own services hear through it that work has ended, in one
  /// place.
  static func onEnd(
    of promise: Promise, target: _HandlerTarget = _HandlerTarget(immediate: ()),
    _ body: @escaping @Sendable () -> Void
  ) -> Promise {
    promise.finished(target, body)
  }
}
