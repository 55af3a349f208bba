import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

// Handlers in the pipeline of each connection, for what AsyncHTTPClient doesn't check.

/// The certificate isn't for the host that was requested.
struct WrongHost: Error {}

/// Fails requests over TLS to a server whose certificate isn't for the host in the URL, before
/// anything is sent.
///
/// NIOSSL also accepts a certificate that contains the address of the peer. For a host name, that
/// address comes from the DNS, which nothing protects, and with a proxy, it is the proxy's.
final class PeerIdentity: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart
  private var isChecked = false

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if !isChecked, case .head(let head) = unwrapOutboundIn(data) {
      // A connection is used for one host only.
      let pipeline = context.pipeline.syncOperations
      let certificate = try? pipeline.handler(type: NIOSSLClientHandler.self).peerCertificate
      guard let certificate, Self.isValid(certificate, for: Self.host(of: head)) else {
        promise?.fail(WrongHost())
        context.fireErrorCaught(WrongHost())
        return context.close(promise: nil)
      }
      isChecked = true
    }
    context.write(data, promise: promise)
  }

  /// The host in the `Host` header field, which the user can't set.
  private static func host(of head: HTTPRequestHead) -> String {
    let field = head.headers.first(name: "Host") ?? ""
    if field.hasPrefix("[") { return String(field.dropFirst().prefix { $0 != "]" }) }
    return String(field.prefix { $0 != ":" })
  }

  /// Returns whether a certificate that NIOSSL has accepted is for `host`.
  private static func isValid(_ certificate: NIOSSLCertificate, for host: String) -> Bool {
    let names = certificate._subjectAlternativeNames()
    let addresses = names.filter { $0.nameType == .ipAddress }.map { Array($0.contents) }
    if let address = try? SocketAddress(ipAddress: host, port: 0) {
      return addresses.contains(address.bytes)
    }
    // Without addresses, NIOSSL has compared the names.
    return addresses.isEmpty
      || names.contains { name in
        name.nameType == .dnsName
          && isMatch(String(decoding: name.contents, as: UTF8.self), host: host)
      }
  }

  /// Returns whether the name in a certificate, which can start with `*.`, is that of a host.
  private static func isMatch(_ name: String, host: String) -> Bool {
    let host = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
    let name = name.lowercased()
    guard name.hasPrefix("*.") else { return name == host }
    return host.firstIndex(of: ".").map { host[$0...] == name.dropFirst() } ?? false
  }
}

extension SocketAddress {
  fileprivate var bytes: [UInt8] {
    switch self {
    case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
    case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
    case .unixDomainSocket: []
    }
  }
}

/// Rejects responses with a status below 100, for which AsyncHTTPClient ends the process.
final class ResponseStatuses: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart
  private var hasFailed = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !hasFailed else { return }
    if case .head(let head) = unwrapInboundIn(data), head.status.code < 100 {
      hasFailed = true
      let error = ConnectionFailure(
        "the server sent the invalid HTTP status \(head.status.code)", isTransient: false)
      context.fireErrorCaught(error)
      context.close(promise: nil)
    } else {
      context.fireChannelRead(data)
    }
  }
}

extension Channel {
  /// Adds the handlers to the pipeline of a connection.
  func addConnectionChecks() throws {
    let pipeline = pipeline.syncOperations
    let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
    if (try? pipeline.handler(type: NIOSSLClientHandler.self)) != nil {
      try pipeline.addHandler(PeerIdentity(), position: .after(encoder))
    }
    try pipeline.addHandler(ResponseStatuses(), position: .after(decoder))
  }
}
