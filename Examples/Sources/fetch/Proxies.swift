import ArgumentParser
import AsyncHTTPClient
import Foundation

/// Which proxy a request goes through, as the usual environment variables say.
struct Proxies: Sendable {
  typealias Proxy = HTTPClient.Configuration.Proxy

  private let forHTTP: Proxy?
  private let forHTTPS: Proxy?
  private let exceptions: [String]

  /// - Parameters:
  ///   - option: The proxy for everything, which overrides the environment.
  ///   - environment: The environment. As with curl, HTTP_PROXY counts in lower case only, for a web
  ///     server sets it from a request.
  init(
    option: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    func value(_ name: String) -> String? { environment[name] ?? environment[name.uppercased()] }
    let general = option ?? value("all_proxy")
    forHTTP = try Self.proxy(option ?? environment["http_proxy"] ?? general)
    forHTTPS = try Self.proxy(option ?? value("https_proxy") ?? general)
    exceptions = (value("no_proxy") ?? "").split(whereSeparator: { $0 == "," || $0 == " " })
      .map { $0.lowercased() }
  }

  func proxy(for url: URL) -> Proxy? {
    let host = url.host()?.lowercased() ?? ""
    let isExcepted = exceptions.contains { entry in
      let name = entry.hasPrefix(".") ? String(entry.dropFirst()) : entry
      return entry == "*" || host == name || host.hasSuffix("." + name)
    }
    if isExcepted { return nil }
    return url.scheme?.lowercased() == "https" ? forHTTPS : forHTTP
  }

  private static func proxy(_ text: String?) throws -> Proxy? {
    guard let text, !text.isEmpty else { return nil }
    let address = text.contains("://") ? text : "http://\(text)"
    guard let url = URL(string: address), let host = url.host(), !host.isEmpty else {
      throw ValidationError("\"\(text)\" is not the address of a proxy.")
    }
    switch url.scheme?.lowercased() {
    case "http":
      let user = url.user(percentEncoded: false)
      let authorization = user.map { user in
        HTTPClient.Authorization.basic(
          username: user, password: url.password(percentEncoded: false) ?? "")
      }
      return .server(host: host, port: url.port ?? 1080, authorization: authorization)
    case "socks5", "socks5h":
      return .socksServer(host: host, port: url.port ?? 1080)
    default:
      throw ValidationError("\"\(text)\" is not the address of an HTTP or SOCKS5 proxy.")
    }
  }
}
