import Pledge

// Properties for tests that use `@testable import Promises`.

extension Promise {
  /// The current result; nil while the promise is pending.
  @inlinable
  var outcome: Swift.Result<Value, any Error>? { storage.currentResult?.map { $0.value } }

  @inlinable
  var isPending: Bool { storage.isPending }
  var isFulfilled: Bool { if case .success = storage.currentResult { true } else { false } }
  var isRejected: Bool { if case .failure = storage.currentResult { true } else { false } }

  /// The value; nil if the promise isn't fulfilled, or if the value itself is nil.
  var value: Value? {
    guard case .success(let value) = outcome, !isNil(value) else { return nil }
    return value
  }

  /// The error; nil if the promise isn't rejected.
  var error: Error? {
    guard case .failure(let error) = storage.currentResult else { return nil }
    return error.asPromiseError
  }

  /// Returns the value as an object; nil if the value is nil.
  static func asAnyObject(_ value: Value) -> AnyObject? { isNil(value) ? nil : value as AnyObject }

  /// Returns the object as a value; nil if it isn't a `Value`.
  static func asValue(_ value: AnyObject?) -> Value? {
    guard let value else { return Any?.none as? Value }
    return value as? Value
  }
}
