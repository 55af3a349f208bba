import Dispatch

/// Returns a promise that is resolved like the first of `promises` to be resolved.
///
/// - Parameters:
///   - queue: The queue on which the promises are observed.
///   - promises: The promises to wait for, at least one.
/// - Returns: A new pending promise.
@inlinable
public func race<Value>(
  on queue: DispatchQueue = .promises, _ promises: Promise<Value>...
) -> Promise<Value> {
  race(on: queue, promises)
}

/// Returns a promise that is resolved like the first of `promises` to be resolved.
///
/// - Parameters:
///   - queue: The queue on which the promises are observed.
///   - promises: The promises to wait for, at least one.
/// - Returns: A new pending promise.
@inlinable
public func race<Value>(
  on queue: DispatchQueue = .promises, _ promises: [Promise<Value>]
) -> Promise<Value> {
  assert(!promises.isEmpty, "No promises to race")
  let result = Promise<Value>()
  queue.hop {
    for promise in promises {
      promise.observe(on: queue) { result.resolve($0) }
    }
  }
  return result
}
