/// A type whose eventual result can be observed: a ``Promise``, a ``Guarantee``, or a promise type
/// of another library.
///
/// The closure of `then` can return any thenable. To conform a type of another library, implement
/// ``observe(_:)``.
public protocol Thenable<Value>: Sendable {
  /// The type of the value.
  associatedtype Value: Sendable

  /// Calls `handler` with the result, now or later, on any thread.
  ///
  /// Only the first call of `handler` has an effect (Promises/A+ 2.3.3.3.3).
  func observe(_ handler: @escaping @Sendable (Result<Value, any Error>) -> Void)

  /// A promise for the result of this thenable.
  ///
  /// A default implementation uses ``observe(_:)``.
  var promise: Promise<Value> { get }
}

extension Thenable {
  /// A promise for the result of this thenable.
  @_disfavoredOverload
  public var promise: Promise<Value> {
    Promise { resolver in observe { resolver.resolve($0) } }
  }
}

extension Thenable {
  /// The promise to which operators are applied, which, for a guarantee, shares its cell.
  @inlinable
  var source: Promise<Value> {
    if Self.self == Guarantee<Value>.self, let guarantee = self as? Guarantee<Value> {
      return guarantee.base
    }
    return promise
  }
}

extension Promise: Thenable {
  /// This promise.
  @inlinable public var promise: Promise<Value> { self }

  /// Calls `handler` with the result, in place on the thread that settles the promise, or, if it has
  /// settled, inside this call.
  @inlinable
  public func observe(_ handler: @escaping @Sendable (Result<Value, any Error>) -> Void) {
    observed(.result, .inPlace(ResultAction(handler)))
  }
}

extension Guarantee: Thenable {
  /// Calls `handler` with the result, in place on the thread that fulfills the guarantee, or, if it is
  /// fulfilled, inside this call.
  @inlinable
  public func observe(_ handler: @escaping @Sendable (Result<Value, any Error>) -> Void) {
    base.observed(.result, .inPlace(ResultAction(handler)))
  }
}
