import Dispatch

/// Returns a promise for the results of `promises`, in their order.
///
/// It waits for all promises. It is rejected, with the last error, only if none is fulfilled. If there
/// are no promises, the result, which is pending, is fulfilled with an empty array.
///
/// **Execution.** The promises are observed on `queue`.
@inlinable
@_disfavoredOverload
public func any<Value>(
  on queue: DispatchQueue = .promises, _ promises: Promise<Value>...
) -> Promise<[Maybe<Value>]> { any(on: queue, promises) }

/// Returns a promise for the results of `promises`, in their order.
///
/// It waits for all promises. It is rejected, with the last error, only if none is fulfilled.
@inlinable
public func any<Value, Container: Sequence>(
  on queue: DispatchQueue = .promises, _ promises: Container
) -> Promise<[Maybe<Value>]> where Container.Element == Promise<Value> {
  let sources = promises.map { $0.source }
  return gather(on: queue, resolved: sources).then(on: queue) { _ in sources.map { $0.resolution } }
}

/// Returns a promise for the results of both promises.
///
/// It waits for both. It is rejected, with the last error, only if none is fulfilled.
@inlinable
public func any<A, B>(
  on queue: DispatchQueue = .promises, _ promiseA: Promise<A>, _ promiseB: Promise<B>
) -> Promise<(Maybe<A>, Maybe<B>)> {
  let (a, b) = (promiseA.source, promiseB.source)
  return gather(on: queue, resolved: [AnyInput(a), AnyInput(b)]).then(on: queue) { _ in
    (a.resolution, b.resolution)
  }
}

/// Returns a promise for the results of all three promises.
///
/// It waits for all promises. It is rejected, with the last error, only if none is fulfilled.
@inlinable
public func any<A, B, C>(
  on queue: DispatchQueue = .promises, _ promiseA: Promise<A>, _ promiseB: Promise<B>,
  _ promiseC: Promise<C>
) -> Promise<(Maybe<A>, Maybe<B>, Maybe<C>)> {
  let (a, b, c) = (promiseA.source, promiseB.source, promiseC.source)
  return gather(on: queue, resolved: [AnyInput(a), AnyInput(b), AnyInput(c)]).then(on: queue) { _ in
    (a.resolution, b.resolution, c.resolution)
  }
}
