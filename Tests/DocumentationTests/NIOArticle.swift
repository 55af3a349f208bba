#if NIO
  import NIOCore
  import NIOPosix
  import Pledge
  import PledgeNIO
  import PledgeTesting
  import Testing

  /// The examples of the article on integrations that need an event loop.
  @Suite struct NIOArticle {
    @Test func bridges() async throws {
      let channel = LoopbackChannel()
      let buffer = ByteBuffer(string: "hello")

      let greeting = channel.eventLoop.submit { "hello" }.promise
        .map { word in word.uppercased() }

      let future: EventLoopFuture<String> = greeting.future(on: channel.eventLoop)

      let written = Promise { resolver in
        channel.writeAndFlush(buffer, promise: resolver.eventLoopPromise(on: channel.eventLoop))
      }

      let executor = TurnExecutor.eventLoop(channel.eventLoop)
      let length = greeting.map(on: executor) { text in text.count }

      #expect(try await future.get() == "HELLO")
      try await expectFulfillment(of: written)
      try await expectFulfillment(of: length, with: 5)
    }

    @Test func givingUp() async throws {
      let channel = LoopbackChannel()
      let connection = SilentConnection(on: channel.eventLoop)

      let reply = connection.request("time").promise(onCancel: { connection.close() })
        .timeout(after: .seconds(2), on: channel.eventLoop)

      reply.cancel()
      try await expectCancellation(of: reply)
      await #expect(throws: CancellationError.self) {
        try await connection.reply.futureResult.get()
      }
    }
  }

  /// As much of a channel as the examples need.
  private struct LoopbackChannel {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    func writeAndFlush(_ buffer: ByteBuffer, promise: EventLoopPromise<Void>?) {
      promise?.succeed(())
    }
  }

  /// A connection to a server that never answers.
  private struct SilentConnection {
    let reply: EventLoopPromise<String>

    init(on loop: any EventLoop) { reply = loop.makePromise() }
    func request(_ text: String) -> EventLoopFuture<String> { reply.futureResult }
    func close() { reply.fail(CancellationError()) }
  }
#endif
