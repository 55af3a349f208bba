import ArgumentParser
import AsyncHTTPClient
import Foundation

/// The proxies for requests, as specified by the usual environment variables.
///
/// All requests go through a tunnel, which the proxy must allow.
struct Proxies: Sendable {
  struct Server: Hashable {
    var host: String
    var port: Int
    var user: String?
    var password: String?

    var tunnel: HTTPClient.Configuration.Proxy {
      let authorization = user.map { user in
        HTTPClient.Authorization.basic(username: user, password: password ?? "")
      }
      return .server(host: host, port: port, authorization: authorization)
    }
  }

  private let forHTTP: Server?
  private let forHTTPS: Server?
  private let exceptions: [String]

  /// - Parameter environment: The environment. As in curl, `HTTP_PROXY` is read in lowercase only,
  ///   because web servers set the uppercase variable from a request header.
  init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    // An empty variable counts as missing.
    let environment = environment.filter { !$0.value.isEmpty }
    func value(_ name: String) -> String? { environment[name] ?? environment[name.uppercased()] }
    forHTTP = try Self.server(environment["http_proxy"] ?? value("all_proxy"))
    forHTTPS = try Self.server(value("https_proxy") ?? value("all_proxy"))
    exceptions = (value("no_proxy") ?? "").split(whereSeparator: { $0 == "," || $0 == " " })
      .map { $0.lowercased() }
  }

  /// Returns the proxy for a URL; nil for a direct connection.
  func server(for url: URL) -> Server? {
    if forHTTP == nil, forHTTPS == nil { return nil }
    let host = url.host()?.lowercased() ?? ""
    let isExcepted = exceptions.contains { entry in
      let name = entry.hasPrefix(".") ? String(entry.dropFirst()) : entry
      return entry == "*" || host == name || host.hasSuffix("." + name)
    }
    if isExcepted { return nil }
    return url.scheme?.lowercased() == "https" ? forHTTPS : forHTTP
  }

  private static func server(_ text: String?) throws -> Server? {
    guard let text else { return nil }
    let address = text.contains("://") ? text : "http://\(text)"
    guard let url = Address.url(address), let host = url.host(), !host.isEmpty,
      url.scheme?.lowercased() == "http"
    else {
      let shown = Address.withoutCredentials(address).printable
      throw ValidationError("\"\(shown)\" is not the URL of an HTTP proxy.")
    }
    return Server(
      host: host, port: url.port ?? 1080, user: url.user(percentEncoded: false),
      password: url.password(percentEncoded: false))
  }
}
