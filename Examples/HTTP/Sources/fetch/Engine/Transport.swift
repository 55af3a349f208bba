import Foundation
import NIOHTTP1
import Pledge

/// A type that sends requests and receives responses: an HTTP client, or a simulation of one.
protocol Transport: Sendable {
  /// The executor on which each download starts.
  ///
  /// If responses arrive on an event loop, this is that loop: it then handles all responses that have
  /// arrived before it sends the next requests, and the server receives those together.
  var executor: any PromiseExecutor { get }

  /// Sends a GET request; doesn't follow redirects.
  ///
  /// The promise is fulfilled when the head of the response has arrived. Cancelling it closes the
  /// connection.
  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer>
}

/// Receives the pieces of a body in order, one call at a time.
typealias Receiver = @Sendable (UnsafeRawBufferPointer) throws -> Void

/// A response whose head has arrived, and whose body has not been requested yet.
///
/// If a response is deallocated and its body was never requested, its connection is closed.
protocol Answer: Sendable {
  var head: AnswerHead { get }

  /// Passes the body to `receive` as it arrives; no more data is read while `receive` runs.
  ///
  /// Call this once. The promise is rejected with an error that `receive` throws, or if the body ends
  /// too early; then, and when the promise is cancelled, the connection is closed.
  func body(_ receive: @escaping Receiver) -> Promise<Void>
}

struct AnswerHead: Sendable {
  /// The URL of the server that sent the response.
  var url: URL
  var status: Int
  var headers: HTTPHeaders = [:]

  var servesRanges: Bool {
    status == 206 || self["Accept-Ranges"]?.lowercased().contains("bytes") == true
  }

  /// The length of the body in bytes, if the server specifies it.
  var length: Int? { self["Content-Length"].flatMap { Int($0) } }

  /// The value of the last field with this name, ignoring case.
  subscript(name: String) -> String? { headers[name].last }
}

/// The error of a connection that couldn't be established, or that broke.
struct ConnectionFailure: Error, CustomStringConvertible {
  let description: String
  /// Whether another attempt may succeed.
  let isTransient: Bool
  /// Whether there is no server at the address.
  let isRefusal: Bool

  init(_ description: String, isTransient: Bool = true, isRefusal: Bool = false) {
    (self.description, self.isTransient) = (description, isTransient)
    self.isRefusal = isRefusal
  }
}

/// The error of an invalid or unexpected response.
struct BadAnswer: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
