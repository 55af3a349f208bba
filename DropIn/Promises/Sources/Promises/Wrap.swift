import Dispatch

/// Returns a promise that is fulfilled with nil when a completion handler without parameters is
/// called.
///
/// The other forms of `wrap` are for completion handlers that take a value, an error, or both; an
/// error rejects the promise.
///
/// - Parameters:
///   - queue: The queue on which `work` runs.
///   - work: Makes the call with the completion handler that it receives.
/// - Returns: A pending promise.
@inlinable
public func wrap(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable () -> Void) throws -> Void
) -> Promise<Any?> {
  Promise<Any?>(on: queue) { fulfill, _ in
    try work { fulfill(nil) }
  }
}

/// Returns a promise for the result of a call whose completion handler takes a value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value) -> Void) throws -> Void
) -> Promise<Value> {
  Promise<Value>(on: queue) { fulfill, _ in
    try work { value in fulfill(value) }
  }
}

/// Returns a promise for the result of a call whose completion handler takes an optional value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value?) -> Void) throws -> Void
) -> Promise<Value?> {
  Promise<Value?>(on: queue) { fulfill, _ in
    try work { value in fulfill(value) }
  }
}

/// Returns a promise for the result of a call whose completion handler takes a value and an error.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value, Error?) -> Void) throws -> Void
) -> Promise<Value> {
  Promise<Value>(on: queue) { fulfill, reject in
    try work { value, error in
      if let error { reject(error) } else { fulfill(value) }
    }
  }
}

/// Returns a promise for the result of a call whose completion handler takes an error and a value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Error?, Value) -> Void) throws -> Void
) -> Promise<Value> {
  Promise<Value>(on: queue) { fulfill, reject in
    try work { error, value in
      if let error { reject(error) } else { fulfill(value) }
    }
  }
}

/// Returns a promise for the result of a call whose completion handler takes an optional value and
/// an error.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value?, Error?) -> Void) throws -> Void
) -> Promise<Value?> {
  Promise<Value?>(on: queue) { fulfill, reject in
    try work { value, error in
      if let error { reject(error) } else { fulfill(value) }
    }
  }
}

/// Returns a promise for the result of a call whose completion handler takes an error and an
/// optional value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Error?, Value?) -> Void) throws -> Void
) -> Promise<Value?> {
  Promise<Value?>(on: queue) { fulfill, reject in
    try work { error, value in
      if let error { reject(error) } else { fulfill(value) }
    }
  }
}

/// Returns a promise for the result of a call whose completion handler takes two optional values
/// and an error.
@inlinable
public func wrap<Value1, Value2>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value1?, Value2?, Error?) -> Void) throws -> Void
) -> Promise<(Value1?, Value2?)> {
  Promise<(Value1?, Value2?)>(on: queue) { fulfill, reject in
    try work { value1, value2, error in
      if let error { reject(error) } else { fulfill((value1, value2)) }
    }
  }
}
