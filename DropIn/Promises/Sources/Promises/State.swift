import Foundation
import Pledge

// What tests look at, with `@testable import Promises`.

extension Promise {
  /// The value or the error as they stand now: nil while the promise is pending.
  @inlinable
  var outcome: Swift.Result<Value, any Error>? {
    storage.currentResult?.map { $0.value }
  }

  @inlinable
  var isPending: Bool { storage.isPending }

  var isFulfilled: Bool {
    if case .success = storage.currentResult { true } else { false }
  }

  var isRejected: Bool {
    if case .failure = storage.currentResult { true } else { false }
  }

  /// The value; nil unless the promise is fulfilled, and where the value itself is nil.
  var value: Value? {
    guard case .success(let value) = outcome, !isNil(value) else { return nil }
    return value
  }

  /// The error; nil unless the promise is rejected.
  var error: Error? {
    guard case .failure(let error) = storage.currentResult else { return nil }
    return error.asPromiseError
  }

  /// The value as an object; nil where the value is nil.
  static func asAnyObject(_ value: Value) -> AnyObject? {
    isNil(value) ? nil : value as AnyObject
  }

  /// The object as a value, or nil if it is no `Value`.
  static func asValue(_ value: AnyObject?) -> Value? {
    guard let value else { return Any?.none as? Value }
    return value as? Value
  }
}
