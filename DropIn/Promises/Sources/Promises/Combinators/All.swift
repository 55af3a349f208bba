import Dispatch

/// Returns a promise for all the values, in the order of `promises`.
///
/// The first error rejects the result immediately. If there are no promises, the result is fulfilled
/// with an empty array immediately.
///
/// **Execution.** The promises are observed on `queue`.
@inlinable
@_disfavoredOverload
public func all<Value>(
  on queue: DispatchQueue = .promises, _ promises: Promise<Value>...
) -> Promise<[Value]> { all(on: queue, promises) }

/// The same as for promises that aren't in a sequence.
@inlinable
public func all<Value, Container: Sequence>(
  on queue: DispatchQueue = .promises, _ promises: Container
) -> Promise<[Value]> where Container.Element == Promise<Value> {
  let sources = promises.map { $0.source }
  if sources.isEmpty { return Promise<[Value]>([]) }
  return gather(on: queue, fulfilled: sources) { sources.map { $0.value } }
}

/// Returns a promise for both values; the first error rejects it immediately.
@inlinable
public func all<A, B>(
  on queue: DispatchQueue = .promises, _ promiseA: Promise<A>, _ promiseB: Promise<B>
) -> Promise<(A, B)> {
  let (a, b) = (promiseA.source, promiseB.source)
  return gather(on: queue, fulfilled: [AnyInput(a), AnyInput(b)]) {}.then(on: queue) { _ in
    (a.value, b.value)
  }
}

/// Returns a promise for all three values; the first error rejects it immediately.
@inlinable
public func all<A, B, C>(
  on queue: DispatchQueue = .promises, _ promiseA: Promise<A>, _ promiseB: Promise<B>,
  _ promiseC: Promise<C>
) -> Promise<(A, B, C)> {
  let (a, b, c) = (promiseA.source, promiseB.source, promiseC.source)
  return gather(on: queue, fulfilled: [AnyInput(a), AnyInput(b), AnyInput(c)]) {}.then(on: queue) {
    _ in
    (a.value, b.value, c.value)
  }
}

/// Returns a promise for all four values; the first error rejects it immediately.
@inlinable
public func all<A, B, C, D>(
  on queue: DispatchQueue = .promises, _ promiseA: Promise<A>, _ promiseB: Promise<B>,
  _ promiseC: Promise<C>, _ promiseD: Promise<D>
) -> Promise<(A, B, C, D)> {
  let (a, b, c, d) = (promiseA.source, promiseB.source, promiseC.source, promiseD.source)
  return gather(on: queue, fulfilled: [AnyInput(a), AnyInput(b), AnyInput(c), AnyInput(d)]) {}.then(
    on: queue
  ) { _ in (a.value, b.value, c.value, d.value) }
}
