import Dispatch

extension Promise {
  /// A closure that receives a promise's error.
  public typealias Catch = (Error) -> Void

  /// Calls `reject` with the error, and returns a promise that is resolved like this one.
  ///
  /// The error is passed on to the returned promise; use `recover` to replace it.
  ///
  /// **Execution.** `reject` runs on `queue`.
  @inlinable
  @discardableResult
  public func `catch`(
    on queue: DispatchQueue = .promises, _ reject: @escaping Catch
  ) -> Promise {
    chain(on: queue, reject) { outcome, result, reject in
      if case .failure(let error) = outcome { reject(error.asPromiseError) }
      result.resolve(outcome)
    }
  }
}
