import ArgumentParser
import AsyncHTTPClient
import FetchSupport
import Foundation

/// The proxies for requests, as specified by the usual environment variables.
struct Proxies: Sendable {
  typealias Tunnel = HTTPClient.Configuration.Proxy

  /// The route of a request.
  enum Route: Hashable {
    case direct
    /// Through a proxy that reads and forwards the request: HTTP without encryption.
    case forwarded(Server)
    /// Through a proxy that relays bytes.
    case tunneled(Tunnel)
  }

  /// An HTTP proxy.
  struct Server: Hashable {
    var host: String
    var port: Int
    var user: String?
    var password: String?

    fileprivate var tunnel: Tunnel {
      let authorization = user.map { user in
        HTTPClient.Authorization.basic(username: user, password: password ?? "")
      }
      return .server(host: host, port: port, authorization: authorization)
    }
  }

  private enum Proxy {
    case http(Server)
    case socks(Tunnel)
  }

  private let forHTTP: Proxy?
  private let forHTTPS: Proxy?
  private let exceptions: [String]

  /// - Parameters:
  ///   - option: The proxy for all requests; overrides the environment.
  ///   - environment: The environment. As in curl, `HTTP_PROXY` is read in lowercase only, because
  ///     web servers set the uppercase variable from a request header.
  init(
    option: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    // An empty variable counts as missing.
    let environment = environment.filter { !$0.value.isEmpty }
    func value(_ name: String) -> String? { environment[name] ?? environment[name.uppercased()] }
    let general = option ?? value("all_proxy")
    forHTTP = try Self.proxy(option ?? environment["http_proxy"] ?? general)
    forHTTPS = try Self.proxy(option ?? value("https_proxy") ?? general)
    exceptions = (value("no_proxy") ?? "").split(whereSeparator: { $0 == "," || $0 == " " })
      .map { $0.lowercased() }
  }

  func route(to url: URL) -> Route {
    if forHTTP == nil, forHTTPS == nil { return .direct }
    let host = url.host()?.lowercased() ?? ""
    let isExcepted = exceptions.contains { entry in
      let name = entry.hasPrefix(".") ? String(entry.dropFirst()) : entry
      return entry == "*" || host == name || host.hasSuffix("." + name)
    }
    if isExcepted { return .direct }
    let isEncrypted = url.scheme?.lowercased() == "https"
    return switch isEncrypted ? forHTTPS : forHTTP {
    case .http(let server): isEncrypted ? .tunneled(server.tunnel) : .forwarded(server)
    case .socks(let tunnel): .tunneled(tunnel)
    case nil: .direct
    }
  }

  private static func proxy(_ text: String?) throws -> Proxy? {
    guard let text, !text.isEmpty else { return nil }
    let address = text.contains("://") ? text : "http://\(text)"
    let shown = Address.withoutCredentials(address).printable
    guard let url = Address.url(address), let host = url.host(), !host.isEmpty else {
      throw ValidationError("\"\(shown)\" is not the URL of a proxy.")
    }
    switch url.scheme?.lowercased() {
    case "http":
      return .http(
        Server(
          host: host, port: url.port ?? 1080, user: url.user(percentEncoded: false),
          password: url.password(percentEncoded: false)))
    case "socks5", "socks5h":
      guard url.user() == nil else {
        throw ValidationError("Passwords for SOCKS5 proxies are not supported.")
      }
      // The proxy resolves host names, as with socks5h in curl.
      return .socks(.socksServer(host: host, port: url.port ?? 1080))
    default:
      throw ValidationError("\"\(shown)\" is not the URL of an HTTP or SOCKS5 proxy.")
    }
  }
}
