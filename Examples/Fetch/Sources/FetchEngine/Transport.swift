import Foundation
import Pledge

/// A type that sends requests and receives responses: an HTTP client, or a simulation of one.
public protocol Transport: Sendable {
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

/// A response whose head has arrived, and whose body has not been requested yet.
///
/// If a response is deallocated and its body was never requested, its connection is closed.
public protocol Answer: Sendable {
  /// The status and the header fields.
  var head: AnswerHead { get }

  /// Passes the body to `receive` as it arrives; no more data is read while `receive` runs.
  ///
  /// Call this once. If `receive` throws an error, the promise is rejected with it and the
  /// connection is closed. The promise is also rejected if the body ends too early. Cancelling the
  /// promise closes the connection.
  ///
  /// - Parameter receive: A closure that receives the pieces in order, one call at a time.
  func body(_ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) -> Promise<Void>
}

/// The head of a response.
public struct AnswerHead: Sendable {
  /// The URL of the server that sent the response.
  public var url: URL
  /// The status code, such as 200.
  public var status: Int
  /// The header fields.
  public var headers: HeaderFields

  /// Creates a head.
  public init(url: URL, status: Int, headers: HeaderFields = [:]) {
    self.url = url
    self.status = status
    self.headers = headers
  }

  /// Whether the server supports range requests.
  var servesRanges: Bool {
    status == 206 || headers["Accept-Ranges"]?.lowercased().contains("bytes") == true
  }

  /// The length of the body in bytes, if the server specifies it.
  var length: Int? { headers["Content-Length"].flatMap { Int($0) } }
}

/// The header fields of a response.
///
/// A response has few fields, and few of them are read, so comparing names is faster than creating
/// a dictionary with lowercased names.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
  private let fields: [(name: String, value: String)]

  /// Creates header fields; names can be in any case.
  public init(_ fields: [(name: String, value: String)]) { self.fields = fields }

  /// Creates header fields; names can be in any case.
  public init(dictionaryLiteral fields: (String, String)...) {
    self.init(fields.map { (name: $0.0, value: $0.1) })
  }

  /// The value of the last field with this name, ignoring case.
  public subscript(name: String) -> String? {
    fields.last { Self.isSame($0.name, name) }?.value
  }

  /// The values by lowercased name; the last one if a name occurs several times.
  public var dictionary: [String: String] {
    Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { _, last in last }
  }

  private static func isSame(_ first: String, _ second: String) -> Bool {
    first == second
      || first.utf8.count == second.utf8.count
        && zip(first.utf8, second.utf8).allSatisfy { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }
}

/// The error of a connection that couldn't be established, or that broke.
public struct ConnectionFailure: Error, CustomStringConvertible {
  /// A message that describes the failure.
  public let description: String
  /// Whether another attempt may succeed.
  public let isTransient: Bool
  /// Whether there is no server at the address.
  public let isRefusal: Bool

  /// Creates the error.
  public init(_ description: String, isTransient: Bool = true, isRefusal: Bool = false) {
    self.description = description
    self.isTransient = isTransient
    self.isRefusal = isRefusal
  }
}

/// The error of an invalid or unexpected response.
public struct BadAnswer: Error, CustomStringConvertible {
  /// A message that describes the problem.
  public let description: String

  /// Creates the error.
  init(_ description: String) { self.description = description }
}
