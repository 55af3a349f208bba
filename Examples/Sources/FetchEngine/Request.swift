import FetchSupport
import Foundation
import Pledge
import PledgeFoundation

/// Sends requests, and follows redirections.
final class Request: Sendable {
  private let transport: any Transport
  private let stalls: StallWatch
  /// What the user wants to be sent with each request.
  private let settings: RequestSettings
  /// How many connections a host may have.
  private let hosts: HostLimits

  init(
    transport: any Transport, stalls: StallWatch, settings: RequestSettings, hosts: HostLimits
  ) {
    self.transport = transport
    self.stalls = stalls
    self.settings = settings
    self.hosts = hosts
  }

  /// Asks for `url`; an answer that does not tell of success is an error.
  func get(
    _ url: URL, _ headers: [String: String], origin: URL? = nil, redirectionsLeft: Int = 20
  ) -> Promise<any Answer> {
    let common = settings.headers(for: url, origin: origin)
    let all = headers.isEmpty ? common : headers.merging(common) { own, _ in own }
    // Waiting for a free connection is not the server's silence.
    return hosts.whenFree(url) { [self] in
      stalls.watch(transport.get(url.withoutCredentials, headers: all), stalls.meter())
    }
    .then(on: .immediate) { [self] answer in
      switch answer.head.status {
      case 200..<300, 416:
        return .value(answer)
      case 301, 302, 303, 307, 308:
        guard redirectionsLeft > 0 else {
          throw BadAnswer(description: "the server redirects too many times")
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
      throw BadAnswer(description: "the server redirects (\(head.status)) without a location")
    }
    guard let url = Address.url(location, relativeTo: head.url),
      ["http", "https"].contains(url.scheme?.lowercased()), url.host()?.isEmpty == false
    else {
      throw BadAnswer(
        description: "the server redirects to \"\(location)\", which is not an HTTP URL")
    }
    return url
  }
}

/// What the user wants to be sent with each request.
public struct RequestSettings: Sendable {
  /// Header fields by their names.
  public var headers: [String: String] = [:]
  /// Finds a user and a password for a host, as in a netrc file.
  public var credentials: (@Sendable (_ host: String) -> (user: String, password: String)?)?

  /// Creates settings that send nothing.
  public init() {}

  /// The header fields for `url`, to which `origin` has redirected, unless that is nil.
  ///
  /// As with curl, a password and the fields Authorization and Cookie are for the host that the user
  /// named; one that a redirection leads to gets what the redirection or the netrc file says.
  func headers(for url: URL, origin: URL?) -> [String: String] {
    // Most requests; taking an address apart takes longer than the rest.
    if headers.isEmpty, credentials == nil, !url.mayHaveCredentials,
      origin?.mayHaveCredentials != true
    {
      return Self.usual
    }
    let origin = origin ?? url
    let isAtHome = url == origin || url.isSameServer(as: origin)
    let choosesEncoding = headers.keys.contains { $0.lowercased() == "accept-encoding" }
    var result = choosesEncoding ? [:] : Self.usual
    for (name, value) in headers where isAtHome || !Self.secretFields.contains(name.lowercased()) {
      result[name] = value
    }
    guard !result.keys.contains(where: { $0.lowercased() == "authorization" }) else {
      return result
    }
    let fromOrigin = isAtHome ? origin.credentials : nil
    if let (user, password) = url.credentials ?? fromOrigin ?? credentials?(url.host() ?? "") {
      let text = Data("\(user):\(password)".utf8).base64EncodedString()
      result["Authorization"] = "Basic \(text)"
    }
    return result
  }

  /// A file is to arrive as it is.
  private static let usual = ["Accept-Encoding": "identity"]
  private static let secretFields: Set = ["authorization", "cookie"]
}

extension URL {
  /// False for an address without a user and a password; the rest must be taken apart.
  fileprivate var mayHaveCredentials: Bool {
    let at = UInt8(ascii: "@")
    return absoluteString.utf8.withContiguousStorageIfAvailable { $0.contains(at) } ?? true
  }

  /// The user and the password in the address.
  fileprivate var credentials: (user: String, password: String)? {
    guard let user = user(percentEncoded: false) else { return nil }
    return (user, password(percentEncoded: false) ?? "")
  }

  /// The address without user and password.
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
