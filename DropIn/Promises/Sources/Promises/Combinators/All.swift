import Dispatch

/// Returns a promise of all the values, in the order of `promises`.
///
/// The first error rejects the result at once.
///
/// - Parameters:
///   - queue: Where the promises are waited for.
///   - promises: The promises to wait for.
/// - Returns: A new promise; no promises give an empty array at once.
@_disfavoredOverload
public func all<Value>(
  on queue: DispatchQueue = .promises, _ promises: Promise<Value>...
) -> Promise<[Value]> {
  all(on: queue, promises)
}

/// Returns a promise of all the values, in the order of `promises`.
///
/// The first error rejects the result at once.
///
/// - Parameters:
///   - queue: Where the promises are waited for.
///   - promises: The promises to wait for.
/// - Returns: A new promise; no promises give an empty array at once.
public func all<Value, Container: Sequence>(
  on queue: DispatchQueue = .promises, _ promises: Container
) -> Promise<[Value]> where Container.Element == Promise<Value> {
  let promises = Array(promises)
  if promises.isEmpty { return Promise<[Value]>([]) }
  return gather(on: queue, fulfilled: promises) { promises.map { $0.fulfilledValue } }
}

/// Returns a promise of both values.
///
/// The first error rejects the result at once.
///
/// - Parameters:
///   - queue: Where the promises are waited for.
///   - promiseA: The promise of the first value.
///   - promiseB: The promise of the second value.
/// - Returns: A new pending promise of a tuple.
public func all<A, B>(
  on queue: DispatchQueue = .promises,
  _ promiseA: Promise<A>,
  _ promiseB: Promise<B>
) -> Promise<(A, B)> {
  gather(on: queue, fulfilled: [promiseA, promiseB]) {}.then(on: queue) { _ in
    (promiseA.fulfilledValue, promiseB.fulfilledValue)
  }
}

/// Returns a promise of all three values.
///
/// The first error rejects the result at once.
///
/// - Parameters:
///   - queue: Where the promises are waited for.
///   - promiseA: The promise of the first value.
///   - promiseB: The promise of the second value.
///   - promiseC: The promise of the third value.
/// - Returns: A new pending promise of a tuple.
public func all<A, B, C>(
  on queue: DispatchQueue = .promises,
  _ promiseA: Promise<A>,
  _ promiseB: Promise<B>,
  _ promiseC: Promise<C>
) -> Promise<(A, B, C)> {
  gather(on: queue, fulfilled: [promiseA, promiseB, promiseC]) {}.then(on: queue) { _ in
    (promiseA.fulfilledValue, promiseB.fulfilledValue, promiseC.fulfilledValue)
  }
}

/// Returns a promise of all four values.
///
/// The first error rejects the result at once.
///
/// - Parameters:
///   - queue: Where the promises are waited for.
///   - promiseA: The promise of the first value.
///   - promiseB: The promise of the second value.
///   - promiseC: The promise of the third value.
///   - promiseD: The promise of the fourth value.
/// - Returns: A new pending promise of a tuple.
public func all<A, B, C, D>(
  on queue: DispatchQueue = .promises,
  _ promiseA: Promise<A>,
  _ promiseB: Promise<B>,
  _ promiseC: Promise<C>,
  _ promiseD: Promise<D>
) -> Promise<(A, B, C, D)> {
  gather(on: queue, fulfilled: [promiseA, promiseB, promiseC, promiseD]) {}.then(on: queue) { _ in
    (
      promiseA.fulfilledValue, promiseB.fulfilledValue, promiseC.fulfilledValue,
      promiseD.fulfilledValue
    )
  }
}
