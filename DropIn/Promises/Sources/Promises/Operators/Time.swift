import Foundation

extension Promise {
  /// Returns a promise that is resolved like this one, or rejected after `interval` seconds.
  ///
  /// If this promise takes longer, the result is rejected with ``PromiseError/timedOut``. The time
  /// starts with this call.
  ///
  /// **Execution.** This promise is observed, and the timer fires, on `queue`.
  @inlinable
  @discardableResult
  public func timeout(
    on queue: DispatchQueue = .promises, _ interval: TimeInterval
  ) -> Promise {
    let result = chain(on: queue, ()) { outcome, result, _ in result.resolve(outcome) }
    queue.after(interval) { [weak result] in result?.reject(PromiseError.timedOut) }
    return result
  }

  /// Returns a promise for the same value, which is fulfilled `interval` seconds later.
  ///
  /// An error passes through immediately.
  ///
  /// **Execution.** This promise is observed, and the timer fires, on `queue`.
  @inlinable
  public func delay(
    on queue: DispatchQueue = .promises, _ interval: TimeInterval
  ) -> Promise<Value> {
    chain(on: queue, (queue, interval)) { outcome, result, timer in
      let (queue, interval) = timer
      let value = try outcome.get()
      queue.after(interval) { result.fulfill(value) }
    }
  }
}
