@_spi(DropIns) import Pledge

#if !Static && !Dynamic
  #error("Enable the trait Static or Dynamic of this package; .defaults enables Static.")
#endif

// Conversions to and from Pledge's types. Cancelling the Pledge promise, if this one has no other
// consumer, rejects this one with `CancellationError`, for which `isCancelled` is true.
//
// The original doesn't have these members. They are disfavored, so that a program that declares a
// member with the same name gets its own.

extension Promise where T: Sendable {
  /// This promise as a Pledge promise.
  @inlinable @_disfavoredOverload
  public var pledge: Pledge.Promise<T> { attach().map(on: .immediate) { $0.value } }
}

extension Guarantee where T: Sendable {
  /// This guarantee as a Pledge guarantee.
  @_disfavoredOverload
  public var pledge: Pledge.Guarantee<T> {
    core.map(on: .immediate) { $0.value }.replaceError(on: .immediate) { error -> T in
      fatalError("PromiseKit: a guarantee was broken: \(error)")
    }
  }
}

// These are properties, and not initializers of `Promise` and `Guarantee`: with a second
// initializer, the compiler reports "no exact matches" for a wrong argument. With one, it describes
// what is wrong.

extension Pledge.Promise {
  /// This promise as a PromiseKit promise.
  @inlinable
  public var promiseKit: PromiseKit.Promise<Value> {
    PromiseKit.Promise(core: map(on: .immediate) { Boxed($0) }.silenced)
  }
}

extension Pledge.Guarantee {
  /// This guarantee as a PromiseKit guarantee.
  @inlinable
  public var promiseKit: PromiseKit.Guarantee<Value> {
    PromiseKit.Guarantee(core: promise.map(on: .immediate) { Boxed($0) })
  }
}
