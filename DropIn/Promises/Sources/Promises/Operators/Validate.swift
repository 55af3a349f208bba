import Dispatch

extension Promise {
  /// Returns a promise for the same value if `predicate` accepts it.
  ///
  /// Otherwise, the result is rejected with ``PromiseError/validationFailure``. An error passes
  /// through.
  ///
  /// **Execution.** `predicate` runs on `queue`.
  @inlinable
  @discardableResult
  public func validate(
    on queue: DispatchQueue = .promises, _ predicate: @escaping (Value) -> Bool
  ) -> Promise {
    chain(on: queue, predicate) { outcome, result, predicate in
      let value = try outcome.get()
      guard predicate(delivered(value)) else { throw PromiseError.validationFailure }
      result.fulfill(value)
    }
  }
}
