import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import Pledge

// What a call to a backend is, whether a chain makes it or a task.

/// Where the backends are; promises, because their ports are known only when they have started.
struct BackendAddresses: Sendable {
  var products: Promise<String>
  var reviews: Promise<String>
  var prices: Promise<String>
}

/// What all backends have in common.
struct SharedServices: Sendable {
  let client: HTTPClient
  let metrics: PrometheusRegistry
}

/// A response that is of no use.
struct BackendError: Error, CustomStringConvertible {
  var backend: String
  var status: HTTPResponseStatus
  var description: String { "\(backend) answered \(status)" }
}

/// The headers with which a request's identity and deadline follow it to the backends.
func backendHeaders(by deadline: Deadline) -> HTTPHeaders {
  [
    RequestID.header: RequestID.current ?? "none",
    Deadline.header: deadline.headerValue,
  ]
}

func backendRequest(_ url: String, by deadline: Deadline) throws -> HTTPClient.Request {
  try HTTPClient.Request(url: url, headers: backendHeaders(by: deadline))
}

func decode<Part: Decodable>(
  _ type: Part.Type, from body: ByteBuffer?, status: HTTPResponseStatus, of backend: String
) throws -> Part {
  guard status == .ok else { throw BackendError(backend: backend, status: status) }
  return try JSONDecoder().decode(type, from: body ?? ByteBuffer())
}

/// Whether the same call may succeed a little later.
///
/// A full queue is no reason to come back at once, and after the deadline there is no later.
func isWorthRetrying(_ error: any Error) -> Bool {
  switch rootCause(of: error) {
  case let error as BackendError: error.status.code >= 500 && error.status != .gatewayTimeout
  case let error as HTTPClientError: error != .deadlineExceeded && error != .cancelled
  case is Limiter.QueueFullError, is QueueFullError, is CancellationError, is DecodingError: false
  default: true
  }
}

/// The error inside those that say how often something was tried: the last one.
func rootCause(of error: any Error) -> any Error {
  switch error {
  case let error as RetryError: error.errors.last.map(rootCause) ?? error
  case let error as AggregateError: error.errors.last.map(rootCause) ?? error
  default: error
  }
}
