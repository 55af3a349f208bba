import Dispatch

extension Promise {
  /// What is done with the error of a promise.
  public typealias Catch = (Error) -> Void

  /// Calls `reject` with the error, and returns a promise that is resolved as this one.
  ///
  /// The error goes on down the chain: use `recover` to replace it.
  ///
  /// - Parameters:
  ///   - queue: Where `reject` runs.
  ///   - reject: Takes the error.
  /// - Returns: A new pending promise.
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
