import Dispatch

extension Promise {
  /// Returns a promise that replaces an error with the promise that `recovery` returns.
  ///
  /// A value passes through. If `recovery` throws, the result is rejected with that error.
  ///
  /// **Execution.** `recovery` runs on `queue`.
  @inlinable
  @discardableResult
  public func recover(
    on queue: DispatchQueue = .promises, _ recovery: @escaping (Error) throws -> Promise
  ) -> Promise {
    chain(on: queue, to: Promise(adopter: ()), (recovery, queue)) { outcome, result, work in
      let (recovery, queue) = work
      switch outcome {
      case .success(let value): result.fulfill(value)
      case .failure(let error): result.adopt(try recovery(error.asPromiseError), on: queue)
      }
    }
  }

  /// Returns a promise that replaces an error with the value that `recovery` returns.
  ///
  /// A value passes through. If `recovery` throws, the result is rejected with that error.
  ///
  /// **Execution.** `recovery` runs on `queue`.
  @inlinable
  @discardableResult
  public func recover(
    on queue: DispatchQueue = .promises, _ recovery: @escaping (Error) throws -> Value
  ) -> Promise {
    chain(on: queue, recovery) { outcome, result, recovery in
      switch outcome {
      case .success(let value): result.fulfill(value)
      case .failure(let error): result.fulfill(try recovery(error.asPromiseError))
      }
    }
  }
}
