import FBLPromises
import Foundation

/// Returns a promise for the value of `work`, which is attempted again after it fails.
///
/// The first attempt runs inside this call, later ones on `queue`.
///
/// - Parameters:
///   - queue: The queue on which later attempts and `predicate` run.
///   - count: The number of attempts after the first one.
///   - interval: The number of seconds between attempts.
///   - predicate: Whether to make another attempt, given the number of attempts left and the error.
///   - work: Returns a promise, or throws.
/// - Returns: A new promise, rejected with the last error if all attempts fail.
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
