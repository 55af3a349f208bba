import FBLPromises
import Foundation

/// Returns a promise for the value of `work`, which is tried again after it has failed.
///
/// The first try runs inside this call, later ones on `queue`.
///
/// - Parameters:
///   - queue: Where later tries and `predicate` run.
///   - count: How many times to try again.
///   - interval: How many seconds to wait before trying again.
///   - predicate: Whether to try again, given how many tries are left and the error.
///   - work: Makes a promise, or throws.
/// - Returns: A new promise, rejected with the last error if all tries fail.
@inlinable
public func retry<Value>(
  on queue: DispatchQueue = .promises,
  attempts count: Int = __FBLPromiseRetryDefaultAttemptsCount,
  delay interval: TimeInterval = __FBLPromiseRetryDefaultDelayInterval,
  condition predicate: ((_ count: Int, _ error: Error) -> Bool)? = nil,
  _ work: @escaping () throws -> Promise<Value>
) -> Promise<Value> {
  let result = Promise<Value>()

  func attempt(_ count: Int) {
    func fail(_ error: any Error) {
      guard count > 0, predicate?(count, error) ?? true else { return result.reject(error) }
      queue.after(interval) { attempt(count - 1) }
    }
    do {
      try work().observe(on: queue) { outcome in
        switch outcome {
        case .success(let value): result.fulfill(value)
        case .failure(let error): fail(error)
        }
      }
    } catch {
      fail(error)
    }
  }

  attempt(count)
  return result
}
