import Dispatch
import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RetryPolicy {
  /// Returns the same policy, which tries again only after errors that may go away by themselves.
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200))
  ///   .withJitter().retryingTransientErrors().honoringRetryAfter()
  /// ```
  ///
  /// Those are the errors for which ``isTransient(_:)`` is true and that the policy retried before.
  public func retryingTransientErrors() -> RetryPolicy {
    retrying { [isRetryable] error in Self.isTransient(error) && isRetryable(error) }
  }

  /// Returns whether another attempt may succeed where this error occurred.
  ///
  /// | error | transient |
  /// |---|---|
  /// | ``HTTPStatusError`` | 408, 425, 429 and all of 500 to 599 |
  /// | `URLError` | connections that failed, were lost or timed out, and answers that make no sense |
  /// | `POSIXError` | connections that were refused, reset or aborted, and networks out of reach |
  /// | `TimeoutError` | always |
  /// | `AggregateError` | if one of its errors is |
  /// | `RetryError` | if its last error is |
  ///
  /// Everything else is not: a request that the server refuses, such as with 404, and a file that
  /// cannot be written, will fare no better the next time.
  public static func isTransient(_ error: any Error) -> Bool {
    switch error {
    case let error as HTTPStatusError:
      [408, 425, 429].contains(error.status) || (500..<600).contains(error.status)
    case let error as URLError: transientCodes.contains(error.code)
    case let error as POSIXError: transientErrorNumbers.contains(error.code)
    case is TimeoutError: true
    case let error as AggregateError: error.errors.contains(where: isTransient)
    case let error as RetryError: error.last.map(isTransient) ?? false
    default: false
    }
  }

  private static let transientCodes: Set<URLError.Code> = [
    .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
    .notConnectedToInternet, .badServerResponse, .cannotParseResponse, .resourceUnavailable,
    .zeroByteResource, .secureConnectionFailed, .cannotLoadFromNetwork,
  ]

  private static let transientErrorNumbers: Set<POSIXErrorCode> = [
    .ECONNREFUSED, .ECONNRESET, .ECONNABORTED, .EPIPE, .ETIMEDOUT, .ENETDOWN, .ENETUNREACH,
    .EHOSTDOWN, .EHOSTUNREACH, .ENOTCONN,
  ]

  /// Returns the same policy, which waits as long as the server asked for in
  /// ``HTTPStatusError/retryAfter``.
  ///
  /// Where several servers were asked, and the error is an `AggregateError`, the shortest wait that
  /// any of them asked for counts; of a `RetryError`, the last error does.
  ///
  /// - Parameter limit: The longest wait that a server may ask for; a longer one becomes this.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public func honoringRetryAfter(limit: Duration = .seconds(300)) -> RetryPolicy {
    honoringRetryAfter(TimeSpan(limit))
  }

  /// Returns the same policy, which waits as long as the server asked for.
  ///
  /// As ``honoringRetryAfter(limit:)``, also on systems without `Duration`.
  @_disfavoredOverload
  public func honoringRetryAfter(limit: DispatchTimeInterval = .seconds(300)) -> RetryPolicy {
    honoringRetryAfter(TimeSpan(limit))
  }

  private func honoringRetryAfter(_ limit: TimeSpan) -> RetryPolicy {
    var policy = self
    policy.requestedPause = { [requestedPause] error in
      guard let wanted = Self.retryAfter(error) else { return requestedPause(error) }
      return min(wanted, limit)
    }
    return policy
  }

  private static func retryAfter(_ error: any Error) -> TimeSpan? {
    switch error {
    case let error as HTTPStatusError: error.wait
    case let error as AggregateError: error.errors.compactMap(retryAfter).min()
    case let error as RetryError: error.last.flatMap(retryAfter)
    default: nil
    }
  }
}
