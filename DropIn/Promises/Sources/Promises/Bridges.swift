import Pledge

#if !Static && !Dynamic
  #error("Enable the trait Static or Dynamic of this package; .defaults enables Static.")
#endif

// To and from Pledge, and async/await.

extension Promise where Value: Sendable {
  /// Creates a promise that is resolved as `pledge` settles.
  public convenience init(_ pledge: Pledge.Promise<Value>) {
    self.init()
    pledge.observe(on: .immediate) { self.resolve($0) }
  }

  /// A promise of Pledge that settles as this one is resolved.
  ///
  /// If this promise goes away unresolved, that one is rejected with `BrokenPromiseError`. Its errors are
  /// reported if they aren't handled, as always with Pledge.
  public var pledge: Pledge.Promise<Value> {
    Pledge.Promise { resolver in
      storage.observe(on: .immediate) { result in
        resolver.resolve(result.map { $0.value }.mapError { $0.asPromiseError })
      }
    }
  }

  /// Returns the value once it is there; throws the error if the promise is rejected.
  ///
  /// No thread is blocked. Cancelling the task ends the wait with `CancellationError`; the promise
  /// itself goes on. A method, since tests that say `@testable import Promises` read a property
  /// `value` that does not wait.
  public func get() async throws -> Value {
    try await pledge.value
  }
}
