@_spi(DropIns) import Pledge

#if !Static && !Dynamic
  #error("Enable the trait Static or Dynamic of this package; .defaults enables Static.")
#endif

// Conversions to and from Pledge's types.
//
// The original doesn't have these members. They are disfavored, so that a program that declares a
// member with the same name gets its own.

extension Promise where T: Sendable {
  /// A Pledge promise that settles like this one.
  ///
  /// An error for which `isCancelled` is true becomes `CancellationError`. If this promise can no
  /// longer be resolved, because its resolver is deallocated, the Pledge promise is rejected with
  /// `BrokenPromiseError`. Its errors are reported if they aren't handled, as those of all Pledge
  /// promises. Cancelling it doesn't affect this promise.
  @_disfavoredOverload
  public var pledge: Pledge.Promise<T> {
    attach().converted { try $0.mapError { $0.isCancelled ? CancellationError() : $0 }.get().value }
  }
}

extension Guarantee where T: Sendable {
  /// A Pledge guarantee that is fulfilled like this one.
  ///
  /// It is broken if this guarantee can no longer be resolved. Cancelling the promises made from it
  /// doesn't affect this guarantee.
  @_disfavoredOverload
  public var pledge: Pledge.Guarantee<T> {
    Pledge.Guarantee(expectingValueOf: core.converted { try $0.get().value })
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
