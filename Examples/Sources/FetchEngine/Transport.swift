import Foundation
import Pledge

/// What sends requests and receives answers: a client, or a simulation of one.
public protocol Transport: Sendable {
  /// Sends a GET request; follows no redirection.
  ///
  /// The promise is fulfilled when the head of the answer has arrived. Cancelling it closes the
  /// connection.
  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer>
}

/// An answer whose head has arrived, and whose body has not been asked for.
///
/// An answer that is released without its body closes its connection.
public protocol Answer: Sendable {
  /// The status and the header fields.
  var head: AnswerHead { get }

  /// Hands the body on as it arrives; the server is held back while `receive` runs.
  ///
  /// To be called once. Cancelling the promise, and an error of `receive`, which rejects it, close the
  /// connection. The promise is rejected as well if the body ends too early.
  ///
  /// - Parameter receive: Takes the pieces in their order; one call at a time.
  func body(_ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) -> Promise<Void>
}

/// The head of an answer.
public struct AnswerHead: Sendable {
  /// The URL of the server that sent the response.
  public var url: URL
  /// The status, such as 200.
  public var status: Int
  /// The header fields.
  public var headers: HeaderFields

  /// Creates a head.
  public init(url: URL, status: Int, headers: HeaderFields = [:]) {
    self.url = url
    self.status = status
    self.headers = headers
  }

  /// Whether the server sends parts of files.
  var servesRanges: Bool {
    status == 206 || headers["Accept-Ranges"]?.lowercased().contains("bytes") == true
  }

  /// The number of bytes of the body, if the server tells.
  var length: Int? { headers["Content-Length"].flatMap { Int($0) } }
}

/// The header fields of a response.
///
/// A response has few of them, and few of those are read: comparing names takes less time than
/// making a dictionary with names in lower case.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
  private let fields: [(name: String, value: String)]

  /// Creates header fields, in any case.
  public init(_ fields: [(name: String, value: String)]) { self.fields = fields }

  /// Creates header fields, in any case.
  public init(dictionaryLiteral fields: (String, String)...) {
    self.init(fields.map { (name: $0.0, value: $0.1) })
  }

  /// The value of the last field with that name, whatever its case.
  public subscript(name: String) -> String? {
    fields.last { Self.isSame($0.name, name) }?.value
  }

  /// The values by the names in lower case.
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

/// A connection that could not be made, or that broke.
public struct ConnectionFailure: Error, CustomStringConvertible {
  /// What happened, in words.
  public let description: String
  /// Whether it may go better the next time.
  public let isTransient: Bool

  /// Creates the error.
  public init(_ description: String, isTransient: Bool = true) {
    self.description = description
    self.isTransient = isTransient
  }
}

/// An answer that makes no sense.
public struct BadAnswer: Error, CustomStringConvertible {
  /// What is wrong with it.
  public let description: String
}
