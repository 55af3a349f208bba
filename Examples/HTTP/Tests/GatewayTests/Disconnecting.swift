import Foundation
import NIOCore
import NIOPosix
import Pledge
import Testing

@testable import gateway

/// Clients that disconnect before they receive their page.
@Suite(.timeLimit(.minutes(10))) struct DisconnectTests {
  @Test(arguments: RunningServer.endpoints)
  func aClientThatDisconnects_cancelsItsPage(endpoint: String) async throws {
    let (arrival, hangUp) = (Event(), Event())
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, _ in
      guard backend == "prices" else { return .answer(after: .zero) }
      arrival.happens()
      return .stall(untilHangUp: hangUp)
    }
    try await withServer(fate: fate) { server in
      let client = try await connect(to: server.address)
      let request = "GET /\(endpoint)/7 HTTP/1.1\r\nhost: localhost\r\n\r\n"
      try await client.writeAndFlush(ByteBuffer(string: request))
      try await arrival.wait()
      try await client.close()
      // The page would take until its deadline, an hour.
      try await hangUp.wait()
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func aConnection_servesTheNextPage(endpoint: String) async throws {
    try await withServer { server in
      let replies = Replies()
      let client = try await connect(to: server.address, replies)
      for id in 1...2 {
        let request = "GET /\(endpoint)/\(id) HTTP/1.1\r\nhost: localhost\r\n\r\n"
        try await client.writeAndFlush(ByteBuffer(string: request))
        _ = try await replies.text(containing: "Lamp \(id)").value
      }
      try await client.close()
    }
  }

  private func connect(to address: String, _ replies: Replies? = nil) async throws -> any Channel {
    let port = try #require(URL(string: address)?.port)
    return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let replies { try channel.pipeline.syncOperations.addHandler(replies) }
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
  }
}

/// What a connection has received.
private final class Replies: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer
  private let received = OutputText()

  func text(containing part: String) -> Promise<String> { received.text(containing: part) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received.append(String(buffer: unwrapInboundIn(data)))
  }
}
