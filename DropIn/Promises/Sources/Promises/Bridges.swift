@_spi(DropIns) import Pledge

#if !Static && !Dynamic
  #error("Enable the trait Static or Dynamic of this package; .defaults enables Static.")
#endif

// Conversions to and from Pledge's promises, and async/await.
//
// The original doesn't have these members. They are disfavored, so that a program that declares a
// member with the same name gets its own.

extension Promise where Value: Sendable {
  /// Creates a promise that is resolved like `pledge`.
  ///
  /// The label keeps this initializer out of the overloads of `Promise(_:)`: each additional one
  /// doubles the time for which the compiler checks an expression such as
  /// `all(Promise(1), Promise(2))`.
  @_disfavoredOverload
  public convenience init(pledge: Pledge.Promise<Value>) {
    self.init()
    pledge.observe(on: .immediate) { self.resolve($0) }
  }

  /// A Pledge promise that settles like this one.
  ///
  /// If this promise is deallocated unresolved, the Pledge promise is rejected with
  /// `BrokenPromiseError`. Its errors are reported if they aren't handled, as those of all Pledge
  /// promises. Cancelling it doesn't affect this promise.
  @_disfavoredOverload
  public var pledge: Pledge.Promise<Value> {
    storage.converted { try $0.mapError { $0.asPromiseError }.get().value }
  }

  /// Waits for the value and returns it; throws the error if the promise is rejected.
  ///
  /// No thread is blocked. Cancelling the task ends the wait with `CancellationError` and doesn't
  /// affect the promise. This is a method, because with `@testable import Promises`, a property
  /// `value` exists that doesn't wait.
  @_disfavoredOverload
  public func get() async throws -> Value { try await pledge.value }
}
