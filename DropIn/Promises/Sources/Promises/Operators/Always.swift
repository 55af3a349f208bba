import Dispatch

extension Promise {
  /// Calls `work` whatever the outcome, and returns a promise that is resolved as this one.
  ///
  /// - Parameters:
  ///   - queue: Where `work` runs.
  ///   - work: Runs when this promise is resolved.
  /// - Returns: A new pending promise.
  @inlinable
  @discardableResult
  public func always(
    on queue: DispatchQueue = .promises, _ work: @escaping () -> Void
  ) -> Promise {
    chain(on: queue, work) { outcome, result, work in
      work()
      result.resolve(outcome)
    }
  }
}
