import Dispatch

/// Returns a promise that is fulfilled with nil when a completion handler without parameters is
/// called.
///
/// The other forms of `wrap` are for completion handlers that take a value, an error, or both; an
/// error rejects the promise.
///
/// **Execution.** `work` runs on `queue`, never inside this call.
@inlinable
public func wrap(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable () -> Void) throws -> Void
) -> Promise<Any?> { Promise<Any?>(on: queue) { fulfill, _ in try work { fulfill(nil) } } }

/// Returns a promise for the result of a call whose completion handler takes a value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value) -> Void) throws -> Void
) -> Promise<Value> {
  Promise<Value>(on: queue) { fulfill, _ in try work { value in fulfill(value) } }
}

/// Returns a promise for the result of a call whose completion handler takes an optional value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value?) -> Void) throws -> Void
) -> Promise<Value?> {
  Promise<Value?>(on: queue) { fulfill, _ in try work { value in fulfill(value) } }
}

/// Returns a promise for the result of a call whose completion handler takes a value and an error.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value, Error?) -> Void) throws -> Void
) -> Promise<Value> { Promise(on: queue, completing: work) }

/// Returns a promise for the result of a call whose completion handler takes an error and a value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Error?, Value) -> Void) throws -> Void
) -> Promise<Value> {
  Promise(on: queue, completing: { completion in try work { completion($1, $0) } })
}

/// Returns a promise for the result of a call whose completion handler takes an optional value and
/// an error.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value?, Error?) -> Void) throws -> Void
) -> Promise<Value?> { Promise(on: queue, completing: work) }

/// Returns a promise for the result of a call whose completion handler takes an error and an
/// optional value.
@inlinable
public func wrap<Value>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Error?, Value?) -> Void) throws -> Void
) -> Promise<Value?> {
  Promise(on: queue, completing: { completion in try work { completion($1, $0) } })
}

/// Returns a promise for the result of a call whose completion handler takes two optional values
/// and an error.
@inlinable
public func wrap<Value1, Value2>(
  on queue: DispatchQueue = .promises,
  _ work: @escaping (@escaping @Sendable (Value1?, Value2?, Error?) -> Void) throws -> Void
) -> Promise<(Value1?, Value2?)> {
  Promise(on: queue, completing: { completion in try work { completion(($0, $1), $2) } })
}

extension Promise {
  /// Creates a promise that is resolved when `work` calls its completion handler; an error takes
  /// precedence over a value.
  @inlinable
  convenience init(
    on queue: DispatchQueue,
    completing work: @escaping (@escaping @Sendable (Value, Error?) -> Void) throws -> Void
  ) {
    self.init(on: queue) { fulfill, reject in
      try work { value, error in
        if let error { reject(error) } else { fulfill(value) }
      }
    }
  }
}
