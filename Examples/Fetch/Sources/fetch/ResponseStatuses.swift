import FetchEngine
import NIOCore
import NIOHTTP1

/// Rejects responses with a status below 100, for which AsyncHTTPClient ends the process.
final class ResponseStatuses: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  private var hasFailed = false

  static func install(in channel: any Channel) throws {
    let pipeline = channel.pipeline.syncOperations
    let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
    try pipeline.addHandler(ResponseStatuses(), position: .after(decoder))
  }

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
