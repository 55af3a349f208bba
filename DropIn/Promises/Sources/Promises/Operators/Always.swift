import Dispatch

extension Promise {
  /// Calls `work` for a value and for an error, and returns a promise that is resolved like this
  /// one.
  ///
  /// **Execution.** `work` runs on `queue`.
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
