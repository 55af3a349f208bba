import Foundation

// What a value may turn out to be at run time.

/// The error that `value` is, if a promise must not be fulfilled with it.
///
/// That is any value that is an `NSError`, or that becomes one, or a box around the error, when it
/// is taken as an object. Types that become something else, as a `String` does, and classes are
/// values even where the program makes them conform to `Error`.
func rejection<Value>(hiddenIn value: Value) -> (any Error)? {
  // A cast of a generic value straight to `NSError` is not to be relied on away from Apple systems.
  guard let error = value as? any Error else { return nil }
  let type: any Any.Type = Swift.type(of: error)
  if type is AnyClass { return type is NSError.Type ? error : nil }
  if let type = type as? any _ObjectiveCBridgeable.Type {
    return becomesError(type) ? error : nil
  }
  return error
}

private func becomesError<T: _ObjectiveCBridgeable>(_ type: T.Type) -> Bool {
  T._ObjectiveCType.self is NSError.Type
}

private protocol AnyOptional {
  var isNil: Bool { get }
}

extension Optional: AnyOptional {
  fileprivate var isNil: Bool { self == nil }
}

/// Whether `value` is a nil.
func isNil<Value>(_ value: Value) -> Bool {
  (value as? any AnyOptional)?.isNil ?? false
}

/// The value as a handler gets it: where anything is allowed, nil comes as `NSNull`.
func delivered<Value>(_ value: Value) -> Value {
  guard Value.self == Any?.self, isNil(value) else { return value }
  let null: Any? = NSNull()
  return null as? Value ?? value
}
