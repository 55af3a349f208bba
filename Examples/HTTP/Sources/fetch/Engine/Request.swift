import Foundation
import Pledge
import PledgeFoundation

/// Sends requests and follows redirects.
struct Request: Sendable {
  let transport: any Transport
  let stalls: StallLimit
  /// The header fields and credentials that the user specified.
  let settings: RequestSettings
  let time: Time
  let hosts: HostLimits

  /// Requests `url`; the promise is rejected if the final status is neither 2xx nor 416.
  func get(
    _ url: URL, _ headers: [String: String], origin: URL? = nil, redirectionsLeft: Int = 20
  ) -> Promise<any Answer> {
    let common = settings.headers(for: url, origin: origin)
    let all = headers.isEmpty ? common : headers.merging(common) { own, _ in own }
    // The time spent waiting for a free connection doesn't count as a stall.
    return hosts.whenFree(url) {
      stalls.watch(transport.get(url.withoutCredentials, headers: all), Meter(time.now()))
    }
    .then(on: .immediate) { answer in
      let head = answer.head
      switch head.status {
      case 200..<300, 416: return .value(answer)
      case 301, 302, 303, 307, 308:
        guard redirectionsLeft > 0 else { throw BadAnswer("too many redirects") }
        return get(
          try Self.destination(of: head), headers, origin: origin ?? url,
          redirectionsLeft: redirectionsLeft - 1)
      default:
        throw HTTPStatusError(
          status: head.status, url: head.url,
          headers: .init(head.headers.map { ($0.lowercased(), $1) }) { _, last in last })
      }
    }
  }

  private static func destination(of head: AnswerHead) throws -> URL {
    guard let location = head["Location"] else {
      throw BadAnswer("the server redirects (\(head.status)) without a location")
    }
    // Header fields are decoded as UTF-8, so the bytes of another encoding are lost.
    guard !location.unicodeScalars.contains("\u{FFFD}") else {
      throw BadAnswer("the server redirects to \"\(location)\", which is not encoded as UTF-8")
    }
    guard let url = Address.url(location, relativeTo: head.url),
      ["http", "https"].contains(url.scheme?.lowercased()), url.host()?.isEmpty == false
    else { throw BadAnswer("the server redirects to \"\(location)\", which is not an HTTP URL") }
    return url
  }
}

/// The header fields that the user wants to send with requests.
struct RequestSettings: Sendable {
  var headers: [String: String] = [:]

  /// Returns the header fields for `url`, or, if `origin` isn't nil, for a redirect from `origin`
  /// to `url`.
  ///
  /// As in curl, passwords and the fields `Authorization` and `Cookie` are sent only to the server
  /// that the user named. Another server receives only credentials from the redirect itself.
  func headers(for url: URL, origin: URL?) -> [String: String] {
    // Requests the file without compression.
    var result = ["accept-encoding": ("Accept-Encoding", "identity")]
    // This applies to most requests; parsing a URL takes longer than the rest.
    if !headers.isEmpty || url.mayHaveCredentials || origin?.mayHaveCredentials == true {
      let origin = origin ?? url
      let isAtHome =
        url == origin
        || url.scheme?.lowercased() == origin.scheme?.lowercased() && url.server == origin.server
      if let (user, password) = url.credentials ?? (isAtHome ? origin.credentials : nil) {
        let text = Data("\(user):\(password ?? "")".utf8).base64EncodedString()
        result["authorization"] = ("Authorization", "Basic \(text)")
      }
      for (name, value) in headers {
        let key = name.lowercased()
        if isAtHome || !["authorization", "cookie"].contains(key) { result[key] = (name, value) }
      }
    }
    return Dictionary(result.values) { first, _ in first }
  }
}

extension URL {
  /// Whether the URL may contain credentials; false if it certainly doesn't, which is faster to
  /// check than parsing it.
  fileprivate var mayHaveCredentials: Bool { absoluteString.utf8.contains(UInt8(ascii: "@")) }

  /// The user name in the URL, and the password, if there is one.
  fileprivate var credentials: (user: String, password: String?)? {
    user(percentEncoded: false).map { ($0, password(percentEncoded: false)) }
  }

  var withoutCredentials: URL {
    guard mayHaveCredentials, user() != nil || password() != nil else { return self }
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    parts.user = nil
    parts.password = nil
    return parts.url ?? self
  }

  /// The host and the port, as in `example.org:443`.
  var server: String {
    let host = host()?.lowercased() ?? ""
    let port = port ?? (scheme?.lowercased() == "https" ? 443 : 80)
    return (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
  }
}
