import Foundation

/// The result of one of several promises: a value or an error.
public enum Maybe<Value> {
  /// The promise was fulfilled with this value.
  case value(Value)
  /// The promise was rejected with this error.
  case error(Error)

  /// Creates a value.
  public init(_ value: Value) { self = .value(value) }

  /// Creates an error.
  public init(_ error: Error) { self = .error(error) }

  /// The value, or nil if there is an error.
  public var value: Value? { if case .value(let value) = self { value } else { nil } }

  /// The error, or nil if there is a value.
  public var error: Error? { if case .error(let error) = self { error } else { nil } }
}

// `@unchecked Sendable`: as for `Promise`.
extension Maybe: @unchecked Sendable {}

extension Maybe {
  init(_ outcome: Swift.Result<Value, any Error>) {
    switch outcome {
    case .success(let value): self = .value(value)
    case .failure(let error): self = .error(error)
    }
  }

  /// The value or the error as an object: nil for a nil value, an `NSError` for an error.
  public func asAnyObject() -> AnyObject? {
    switch self {
    case .value(let value): Promise<Value>.asAnyObject(value)
    case .error(let error): error as NSError
    }
  }
}

/// Returns an `NSError` as an error, and any other object as a value.
///
/// It is a programmer error if `value` is neither an `NSError` nor a `Value`.
public func asMaybe<Value>(_ value: AnyObject) -> Maybe<Value> {
  if let error = value as? NSError { return .error(error) }
  guard let value = Promise<Value>.asValue(value) else {
    preconditionFailure("Cannot cast \(type(of: value)) to \(Value.self)")
  }
  return .value(value)
}

extension Maybe: Equatable where Value: Equatable {}

/// Returns whether both have equal values, or errors with the same domain, code, and user info.
public func == <Value: Equatable>(lhs: Maybe<Value>, rhs: Maybe<Value>) -> Bool {
  switch (lhs, rhs) {
  case (.value(let lhs), .value(let rhs)): lhs == rhs
  case (.error(let lhs), .error(let rhs)): (lhs as NSError).isEqual(rhs as NSError)
  default: false
  }
}

/// Returns whether the two have different values or errors.
public func != <Value: Equatable>(lhs: Maybe<Value>, rhs: Maybe<Value>) -> Bool { !(lhs == rhs) }
