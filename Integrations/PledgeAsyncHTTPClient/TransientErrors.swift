#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import Pledge

  extension HTTPClient {
    /// Returns whether another attempt can succeed after this error of a request.
    ///
    /// ```swift
    /// let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200))
    ///   .withJitter().retrying(when: HTTPClient.isTransient)
    /// ```
    ///
    /// | error | transient |
    /// |---|---|
    /// | `HTTPClientError` | connections that were closed or not established, and timeouts except that of `deadline` |
    /// | `ChannelError`, `IOError`, `NIOConnectionError` | always: the connection failed |
    /// | `HTTPParserError` | if the response ended early |
    /// | `TimeoutError` | always |
    /// | `AggregateError` | if one of its errors is |
    ///
    /// Other errors aren't transient. A response with any HTTP status isn't an error of the client: if
    /// your code throws one for it, combine this function with a condition for that error.
    ///
    /// A server closes a connection that the client keeps for further requests whenever it likes, so a
    /// request can fail with `ChannelError.ioOnClosedChannel` or `HTTPClientError.remoteConnectionClosed`
    /// while the server works. The server can have processed the request: retry only what can be
    /// repeated.
    public static func isTransient(_ error: any Error) -> Bool {
      AggregateError.causes(of: error).contains { cause in
        switch cause {
        case let error as HTTPClientError: transientErrors.contains(error)
        case is ChannelError, is IOError, is NIOConnectionError, is TimeoutError: true
        case let error as HTTPParserError: error == .invalidEOFState
        default: false
        }
      }
    }

    private static let transientErrors: [HTTPClientError] = [
      .remoteConnectionClosed, .uncleanShutdown, .connectTimeout, .readTimeout, .writeTimeout,
      .tlsHandshakeTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout,
      .getConnectionFromPoolTimeout,
    ]
  }
#endif
