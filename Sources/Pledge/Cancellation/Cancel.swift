extension Promise {
  /// Asks the producer of this promise to stop.
  ///
  /// The request climbs the chain as far as this promise's side is the only consumer. Where it
  /// ends, the promise is rejected with `CancellationError`, which flows down the chain again:
  /// `catch`, `recover`, `finally` and `await` all see it. Other consumers of a shared promise
  /// notice nothing. A settled promise is not affected. A handler that is running is not
  /// interrupted; its promise is rejected when it has returned.
  ///
  /// - Complexity: O(links climbed).
  @inlinable
  public func cancel() { cell.cancelByName() }

  /// Whether cancellation of this promise was asked for, be it by its consumers or by name.
  @inlinable
  public var isCancelled: Bool { cell.isCancelled }

  /// Returns a promise with the same outcome whose cancellation leaves this one alone.
  ///
  /// Cancelling the result rejects the result only. Use it to hand out shared work.
  @inlinable
  public func uncancellable() -> Promise {
    Promise(
      cell: cell.derive(
        Value.self, wants: Cell.Input.uncancellable, target: HandlerTarget(immediate: ()),
        body: nil
      ) { handler, source in handler.copyResult(of: source, as: Value.self) })
  }

  /// A promise with the same outcome whose cancellation counts as that of one consumer.
  @inlinable
  package func share() -> Promise {
    Promise(
      cell: cell.derive(
        Value.self, wants: 0, target: HandlerTarget(immediate: ()), body: nil
      ) { handler, source in handler.copyResult(of: source, as: Value.self) })
  }
}

extension Guarantee {
  /// Returns a guarantee of the same value; cancelling what is made from it leaves this one alone.
  ///
  /// See ``Promise/uncancellable()``.
  @inlinable
  public func uncancellable() -> Guarantee { Guarantee(cell: base.uncancellable().cell) }
}
