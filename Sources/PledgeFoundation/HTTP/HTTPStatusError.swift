import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The error of an HTTP response whose status doesn't indicate success.
public struct HTTPStatusError: Error, Sendable, CustomStringConvertible {
  /// The statuses that indicate success.
  public static let successes = 200..<300

  /// The status, such as 404.
  public let status: Int
  /// The URL of the response, after all redirects.
  public let url: URL?
  /// The header fields, by name as sent by the server.
  public let headers: [String: String]
  /// The delay that the server requests before the next attempt; nil if it requests none.
  ///
  /// The server specifies it in the `Retry-After` header field, in seconds or as a date. It's never
  /// negative.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var retryAfter: Duration? { wait?.duration }
  /// ``retryAfter`` as a number of seconds.
  public var secondsToRetry: Double? { wait?.inSeconds }
  /// The body of the response; for a download or a stream, its first 64 KiB.
  public let body: Data

  let wait: TimeSpan?

  /// Creates the error for `response` with `body`.
  public init(_ response: HTTPURLResponse, body: Data = Data()) {
    var headers: [String: String] = [:]
    for (name, value) in response.allHeaderFields { headers["\(name)"] = "\(value)" }
    self.init(status: response.statusCode, url: response.url, headers: headers, body: body)
  }

  /// Creates the error for a response from an HTTP client other than `URLSession`.
  ///
  /// - Parameters:
  ///   - status: The status, such as 404.
  ///   - url: The URL of the response.
  ///   - headers: The header fields. Names are case-insensitive.
  ///   - body: The body of the response.
  public init(status: Int, url: URL?, headers: [String: String] = [:], body: Data = Data()) {
    self.status = status
    self.url = url
    self.headers = headers
    self.body = body
    func value(of name: String) -> String? {
      headers.first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
    }
    wait = value(of: "Retry-After").flatMap { text in
      HTTPDate.delay(text, from: value(of: "Date").flatMap(HTTPDate.parse) ?? Date())
    }
  }

  /// A description of the status and its URL.
  public var description: String {
    let reason = HTTPURLResponse.localizedString(forStatusCode: status)
    return "HTTP status \(status) (\(reason))" + (url.map { " from \($0.absoluteString)" } ?? "")
  }
}

/// The dates and delays in HTTP header fields (RFC 9110, 5.6.7 and 10.2.3).
enum HTTPDate {
  static func delay(_ text: String, from now: Date) -> TimeSpan? {
    let text = text.trimmingCharacters(in: .whitespaces)
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      // A number that is too large still requests a wait.
      return .seconds(Int64(text) ?? .max)
    }
    guard let date = parse(text) else { return nil }
    return .rounding(seconds: max(0, date.timeIntervalSince(now)))
  }

  static func parse(_ text: String) -> Date? {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    for format in [
      "EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'",
      "EEE MMM d HH:mm:ss yyyy",
    ] {
      formatter.dateFormat = format
      if let date = formatter.date(from: text) { return date }
    }
    return nil
  }
}

extension Promise where Value == (data: Data, response: URLResponse) {
  /// Passes the response on if its HTTP status indicates success.
  ///
  /// If the status is outside 200..<300, the result is rejected with an ``HTTPStatusError`` that
  /// contains the body. Responses of protocols other than HTTP pass. No closure runs. Cancelling
  /// the result cancels this promise.
  public func validate() -> Promise {
    map(on: .immediate) { data, response in
      try response.requireSuccess(body: data)
      return (data, response)
    }
  }
}

extension Promise where Value == (Data, URLResponse) {
  /// Passes the response on if its HTTP status indicates success, as for this module's methods.
  ///
  /// Use it with Foundation's own methods: `Promise { try await session.data(from: url) }`.
  public func validate() -> Promise {
    map(on: .immediate) { data, response in
      try response.requireSuccess(body: data)
      return (data, response)
    }
  }
}

extension URLResponse {
  fileprivate func requireSuccess(body: Data) throws {
    guard let response = self as? HTTPURLResponse else { return }
    guard !HTTPStatusError.successes.contains(response.statusCode) else { return }
    throw HTTPStatusError(response, body: body)
  }
}
