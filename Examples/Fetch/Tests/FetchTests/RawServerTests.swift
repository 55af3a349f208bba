import NIOCore
import NIOPosix
import PledgeTesting
import Testing

/// The server of the tests.
@Suite struct RawServerTests {
  /// NIO ends the process if a connection is released without having been closed.
  @Test func stop_whileConnectionsArrive_closesThem() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    for _ in 0..<200 {
      let server = try await RawServer { _ in "" }
      let connecting = (0..<8).map { _ in
        ClientBootstrap(group: loop).connect(host: "127.0.0.1", port: server.port)
      }
      let clients = try await EventLoopFuture.whenAllSucceed(connecting, on: loop).get()
      await server.stop()
      for client in clients { try await client.closeFuture.get() }
    }
  }

  /// Tests that compute keep the threads of other tasks for longer than a client waits.
  @Test func handlers_runOnTheEventLoopOfTheServer() async throws {
    let places = Recorder<Bool>()
    let server = try await RawServer { _ in
      places.record(RawServer.loop.inEventLoop)
      return ""
    }
    let client = try await ClientBootstrap(group: RawServer.loop)
      .connect(host: "127.0.0.1", port: server.port).get()
    try await client.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
    try await client.closeFuture.get()
    #expect(places.events == [true])
    await server.stop()
  }
}
