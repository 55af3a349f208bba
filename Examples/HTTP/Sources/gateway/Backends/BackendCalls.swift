import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Pledge
import PledgeAsyncHTTPClient
import PledgeLifecycle

// The calls to backends, which both endpoints use.

/// The addresses of the backends; promises, because the ports are known only after they have
/// started.
struct BackendAddresses: Sendable {
  var products: Promise<String>
  var reviews: Promise<String>
  var prices: Promise<String>
}

/// The services that all backends share.
struct SharedServices: Sendable {
  let client: HTTPClient
  let metrics: PrometheusRegistry
  /// The calls that outlive their requests, such as refreshes of stale pages.
  let scope: GracefulScope
}

/// The error of a response whose status isn't 200.
struct BackendError: Error, CustomStringConvertible {
  var backend: String
  var status: HTTPResponseStatus
  var description: String { "\(backend) responded with \(status)" }
}

/// The maximum size of a backend's response, in bytes.
let maximumBodySize = 1 << 20

/// Returns a request that sends its ID and deadline to the backend.
func backendRequest(_ url: String, by deadline: Deadline) throws -> HTTPClient.Request {
  try HTTPClient.Request(
    url: url,
    headers: [RequestID.header: RequestID.current ?? "none", Deadline.header: deadline.headerValue])
}

func decode<Part: Decodable>(
  _ type: Part.Type, from response: HTTPClient.Response
) throws -> Part { try JSONDecoder().decode(type, from: response.body ?? ByteBuffer()) }

/// Returns whether another attempt can succeed.
///
/// An immediate retry doesn't help if a queue is full, and is too late after the deadline.
func isWorthRetrying(_ error: any Error) -> Bool {
  switch rootCause(of: error) {
  case let error as BackendError: error.status.code >= 500 && error.status != .gatewayTimeout
  case let error: HTTPClient.isTransient(error)
  }
}

/// Returns the last error in an error that contains those of several attempts.
func rootCause(of error: any Error) -> any Error {
  switch error {
  case let error as AggregateError: error.errors.last.map(rootCause) ?? error
  default: error
  }
}
