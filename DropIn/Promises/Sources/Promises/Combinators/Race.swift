import Dispatch

/// Returns a promise that is resolved like the first of `promises`, at least one, to be resolved.
///
/// **Execution.** The promises are observed on `queue`.
@inlinable
public func race<Value>(
  on queue: DispatchQueue = .promises, _ promises: Promise<Value>...
) -> Promise<Value> { race(on: queue, promises) }

/// The same as for promises that aren't in an array.
@inlinable
public func race<Value>(
  on queue: DispatchQueue = .promises, _ promises: [Promise<Value>]
) -> Promise<Value> {
  assert(!promises.isEmpty, "No promises to race")
  let result = Promise<Value>()
  queue.hop {
    for promise in promises { promise.observe(on: queue) { result.resolve($0) } }
  }
  return result
}
