import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Corrects the targets of requests that AsyncHTTPClient sends.
///
/// - For a URL whose escapes aren't UTF-8, such as `caf%E9.txt`, it requests `/`. A header field,
///   which isn't sent, contains the right target.
/// - A proxy that forwards requests needs absolute URLs; AsyncHTTPClient always requests a tunnel,
///   which many proxies allow only for HTTPS.
final class RequestTargets: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// The name of the header field that contains a target.
  static let field = "fetch-target"

  private let isForwarded: Bool

  private init(isForwarded: Bool) { self.isForwarded = isForwarded }

  static func install(in channel: any Channel, isForwarded: Bool) throws {
    let pipeline = channel.pipeline.syncOperations
    let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
    try pipeline.addHandler(RequestTargets(isForwarded: isForwarded), position: .after(encoder))
  }

  /// Returns the target for a URL that AsyncHTTPClient can't request; otherwise nil.
  static func undecodable(_ url: URL) -> String? {
    let path = url.path(percentEncoded: true)
    guard path.utf8.contains(UInt8(ascii: "%")), path.removingPercentEncoding == nil else {
      return nil
    }
    return path + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var part = unwrapOutboundIn(data)
    if case .head(var head) = part {
      if let target = head.headers.first(name: Self.field) {
        head.uri = target
        head.headers.remove(name: Self.field)
      }
      if isForwarded { head.uri = "http://\(head.headers.first(name: "Host") ?? "")\(head.uri)" }
      part = .head(head)
    }
    context.write(wrapOutboundOut(part), promise: promise)
  }
}
