import Dispatch
import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RetryPolicy {
  /// Returns this policy, limited to errors that can disappear without intervention.
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200))
  ///   .withJitter().retryingTransientErrors().honoringRetryAfter()
  /// ```
  ///
  /// The result retries an error if ``isTransient(_:)`` is true for it and this policy retries it.
  public func retryingTransientErrors() -> RetryPolicy {
    retrying { [isRetryable] error in Self.isTransient(error) && isRetryable(error) }
  }

  /// Returns whether another attempt can succeed after this error.
  ///
  /// | error | transient |
  /// |---|---|
  /// | ``HTTPStatusError`` | 408, 425, 429 and all of 500 to 599 |
  /// | `URLError` | connections that failed, were lost, or timed out, invalid responses, and, on Linux, unknown errors, such as a body that ends early |
  /// | `POSIXError` | connections that were refused, reset, or aborted, and unreachable networks |
  /// | `TimeoutError` | always |
  /// | `AggregateError` | if one of its errors is |
  ///
  /// Other errors aren't transient. For example, a request that the server refuses with 404, or a
  /// file that can't be written, fails again.
  public static func isTransient(_ error: any Error) -> Bool {
    AggregateError.causes(of: error).contains { cause in
      switch cause {
      case let error as HTTPStatusError:
        [408, 425, 429].contains(error.status) || (500..<600).contains(error.status)
      case let error as URLError: transientCodes.contains(error.code)
      case let error as POSIXError: transientErrorNumbers.contains(error.code)
      case is TimeoutError: true
      default: false
      }
    }
  }

  private static let transientCodes: Set<URLError.Code> = {
    var codes: Set<URLError.Code> = [
      .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
      .notConnectedToInternet, .badServerResponse, .cannotParseResponse, .resourceUnavailable,
      .zeroByteResource, .secureConnectionFailed, .cannotLoadFromNetwork,
    ]
    #if canImport(FoundationNetworking)
      // This Foundation gives most failures of a connection no other code.
      codes.insert(.unknown)
    #endif
    return codes
  }()

  private static let transientErrorNumbers: Set<POSIXErrorCode> = [
    .ECONNREFUSED, .ECONNRESET, .ECONNABORTED, .EPIPE, .ETIMEDOUT, .ENETDOWN, .ENETUNREACH,
    .EHOSTDOWN, .EHOSTUNREACH, .ENOTCONN,
  ]

  /// Returns this policy with the delays that the server requests in
  /// ``HTTPStatusError/retryAfter``.
  ///
  /// For an `AggregateError`, the shortest delay that any server requested counts.
  ///
  /// - Parameter limit: The longest delay that a server can request; longer ones are reduced to it.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public func honoringRetryAfter(limit: Duration = .seconds(300)) -> RetryPolicy {
    honoringRetryAfter(TimeSpan(limit))
  }

  /// The same as ``honoringRetryAfter(limit:)``, for systems without `Duration`.
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
    AggregateError.causes(of: error).compactMap { ($0 as? HTTPStatusError)?.wait }.min()
  }
}
