import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

/// Sends requests and follows redirects.
final class Request: Sendable {
  private let transport: any Transport
  private let stalls: StallWatch
  /// The header fields and credentials that the user specified.
  private let settings: RequestSettings
  /// The limit of connections to each host.
  private let hosts: HostLimits

  init(
    transport: any Transport, stalls: StallWatch, settings: RequestSettings, hosts: HostLimits
  ) {
    self.transport = transport
    self.stalls = stalls
    self.settings = settings
    self.hosts = hosts
  }

  /// Requests `url`; the promise is rejected if the final status is neither 2xx nor 416.
  func get(
    _ url: URL, _ headers: [String: String], origin: URL? = nil, redirectionsLeft: Int = 20
  ) -> Promise<any Answer> {
    let common = settings.headers(for: url, origin: origin)
    let all = headers.isEmpty ? common : headers.merging(common) { own, _ in own }
    // The time spent waiting for a free connection doesn't count as a stall.
    return hosts.whenFree(url) { [self] in
      stalls.watch(transport.get(url.withoutCredentials, headers: all), stalls.meter())
    }
    .then(on: .immediate) { [self] answer in
      switch answer.head.status {
      case 200..<300, 416:
        return .value(answer)
      case 301, 302, 303, 307, 308:
        guard redirectionsLeft > 0 else {
          throw BadAnswer("too many redirects")
        }
        let next = try Self.destination(of: answer.head)
        return get(
          next, headers, origin: origin ?? url, redirectionsLeft: redirectionsLeft - 1)
      default:
        throw HTTPStatusError(
          status: answer.head.status, url: answer.head.url,
          headers: answer.head.headers.dictionary)
      }
    }
  }

  private static func destination(of head: AnswerHead) throws -> URL {
    guard let location = head.headers["Location"] else {
      throw BadAnswer("the server redirects (\(head.status)) without a location")
    }
    // Header fields are decoded as UTF-8, so the bytes of another encoding are lost.
    guard !location.unicodeScalars.contains("\u{FFFD}") else {
      throw BadAnswer("the server redirects to \"\(location)\", which is not encoded as UTF-8")
    }
    guard let url = Address.url(location, relativeTo: head.url),
      ["http", "https"].contains(url.scheme?.lowercased()), url.host()?.isEmpty == false
    else {
      throw BadAnswer(
        "the server redirects to \"\(location)\", which is not an HTTP URL")
    }
    return url
  }
}

/// The header fields that the user wants to send with requests.
public struct RequestSettings: Sendable {
  /// The header fields, by name.
  public var headers: [String: String] = [:]
  /// Creates settings without header fields.
  public init() {}

  /// Returns the header fields for `url`, or, if `origin` isn't nil, for a redirect from `origin`
  /// to `url`.
  ///
  /// As in curl, passwords and the fields `Authorization` and `Cookie` are sent only to the server
  /// that the user named. Another server receives only credentials from the redirect itself.
  func headers(for url: URL, origin: URL?) -> [String: String] {
    // This applies to most requests; parsing a URL takes longer than the rest.
    if headers.isEmpty, !url.mayHaveCredentials, origin?.mayHaveCredentials != true {
      return Self.usual
    }
    let origin = origin ?? url
    let isAtHome = url == origin || url.isSameServer(as: origin)
    let choosesEncoding = headers.keys.contains { $0.lowercased() == "accept-encoding" }
    var result = choosesEncoding ? [:] : Self.usual
    for (name, value) in headers where isAtHome || !Self.fieldsForHome.contains(name.lowercased()) {
      result[name] = value
    }
    guard !result.keys.contains(where: { $0.lowercased() == "authorization" }) else {
      return result
    }
    if let (user, password) = url.credentials ?? (isAtHome ? origin.credentials : nil) {
      let text = Data("\(user):\(password ?? "")".utf8).base64EncodedString()
      result["Authorization"] = "Basic \(text)"
    }
    return result
  }

  /// Requests the file without compression.
  private static let usual = ["Accept-Encoding": "identity"]
  private static let fieldsForHome: Set = ["authorization", "cookie"]
}

extension URL {
  /// Whether the URL may contain credentials; false if it certainly doesn't, which is faster to
  /// check than parsing it.
  fileprivate var mayHaveCredentials: Bool {
    let at = UInt8(ascii: "@")
    return absoluteString.utf8.withContiguousStorageIfAvailable { $0.contains(at) } ?? true
  }

  /// The user name in the URL, and the password, if there is one.
  fileprivate var credentials: (user: String, password: String?)? {
    guard let user = user(percentEncoded: false) else { return nil }
    return (user, password(percentEncoded: false))
  }

  /// The URL without user name and password.
  var withoutCredentials: URL {
    guard mayHaveCredentials, user() != nil || password() != nil else { return self }
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    parts.user = nil
    parts.password = nil
    return parts.url ?? self
  }

  fileprivate func isSameServer(as other: URL) -> Bool {
    scheme?.lowercased() == other.scheme?.lowercased()
      && host()?.lowercased() == other.host()?.lowercased() && effectivePort == other.effectivePort
  }

  private var effectivePort: Int? { port ?? (scheme?.lowercased() == "https" ? 443 : 80) }
}
