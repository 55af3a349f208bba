import Pledge

#if !Static && !Dynamic
  #error("Enable the trait Static or Dynamic of this package; .defaults enables Static.")
#endif

// The way to Pledge and back. Cancelling the Pledge promise, if this one has no other consumer,
// rejects this one with `CancellationError`, for which `isCancelled` is true.

extension Promise where T: Sendable {
  /// This promise as one of Pledge's.
  @inlinable
  public var pledge: Pledge.Promise<T> { attach().map(on: .immediate) { $0.value } }
}

extension Guarantee where T: Sendable {
  /// This guarantee as one of Pledge's.
  @inlinable
  public var pledge: Pledge.Guarantee<T> {
    core.map(on: .immediate) { $0.value }.replaceError(on: .immediate) { error -> T in
      fatalError("PromiseKit: a guarantee was broken: \(error)")
    }
  }
}

// Properties, and not initializers of `Promise` and `Guarantee`: one more initializer, and the
// compiler's message for a wrong argument is that there are "no exact matches", where it would say
// what is wrong with the argument of the only one.

extension Pledge.Promise {
  /// This promise as one of PromiseKit's.
  @inlinable
  public var promiseKit: PromiseKit.Promise<Value> {
    PromiseKit.Promise(core: map(on: .immediate) { Boxed($0) }.silenced)
  }
}

extension Pledge.Guarantee {
  /// This guarantee as one of PromiseKit's.
  @inlinable
  public var promiseKit: PromiseKit.Guarantee<Value> {
    PromiseKit.Guarantee(core: promise.map(on: .immediate) { Boxed($0) })
  }
}
