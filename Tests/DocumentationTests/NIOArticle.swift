#if NIO
  import NIOCore
  import NIOEmbedded
  import NIOPosix
  import Pledge
  import PledgeNIO
  import PledgeTesting
  import Testing

  // NIOPosix has a protocol of that name.
  typealias Resolver = Pledge.Resolver

  /// The examples of EventLoops.md, and those of Integrations.md that need an event loop, with a
  /// server on loopback.
  @Suite struct NIOArticle {
    @Test func bridges() async throws {
      let received = Recorder<String>()
      try await withConnection { request in
        received.record(request)
        return .value(request)
      } _: { connection in
        let channel = connection.channel
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
        try await expectFulfillment(of: received.reaches(1).promise)
        #expect(received.events == ["hello"])
      }
    }

    @Test func answer_inTime() async throws {
      try await withConnection { _ in
        .value("noon")
      } _: { connection in
        try await expectFulfillment(
          of: ask(connection, NIOAsyncTestingChannel()), with: "noon")
      }
    }

    @Test func answer_thatTakesTooLong() async throws {
      let (asked, cancelled) = (Recorder<String>(), Recorder<Void>())
      try await withConnection { request in
        Promise { resolver in
          // Called when the client has closed the connection: see `channelInactive`.
          resolver.onCancel { _ = (cancelled.record(()), resolver) }
          asked.record(request)
        }
      } _: { connection in
        let clock = NIOAsyncTestingChannel()
        let reply = ask(connection, clock)
        try await expectFulfillment(of: asked.reaches(1).promise)
        await clock.testingEventLoop.advanceTime(by: .seconds(2))
        try await expectRejection(of: reply, with: TimeoutError.self)
        try await expectFulfillment(of: cancelled.reaches(1).promise)
      }
    }

    private func ask(_ connection: ClientConnection, _ channel: some Channel) -> Promise<String> {
      let reply = connection.request("time").promise(onCancel: { connection.close() })
        .timeout(after: .seconds(2), on: channel.eventLoop)

      return reply
    }

    @Test func recommendations() async throws {
      try await withConnection { request in
        .value(request)
      } _: { connection in
        let channel = connection.channel
        let loop = channel.eventLoop
        let future = connection.request("1")
        try await expectFulfillment(of: future.promise, with: "1")

        let closed = channel.closeFuture.promise
        closed.then { Promise.value(1) }.cancel()
        // The only consumer has cancelled, and the channel is still open.
        let cleanUp = closed.then { Promise.value(2) }
        try expectPending(cleanUp)
        connection.close()
        try await expectFulfillment(of: cleanUp, with: 2)

        let page = Promise.value(3)
        #expect(try await page.future(on: loop).get() == 3)
        try await expectFulfillment(
          of: page.done(on: .eventLoop(loop)) { _ in #expect(loop.inEventLoop) })
      }
    }

    @Test func resolversInAFileThatImportsNIOPosix() async throws {
      let (promise, resolver): (Promise<Int>, Resolver<Int>) = Promise.withResolvers()
      resolver.fulfill(1)
      try await expectFulfillment(of: promise, with: 1)
    }
  }

  /// Calls `body` with a connection to a server on loopback that answers with `respond`.
  private func withConnection(
    _ respond: @escaping @Sendable (String) -> Promise<String>,
    _ body: (ClientConnection) async throws -> Void
  ) async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let server = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ServerConnection(respond))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let channel = try await ClientBootstrap(group: group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Replies())
        }
      }
      .connect(host: "127.0.0.1", port: server.localAddress?.port ?? 0).get()
    var failure: (any Error)?
    do { try await body(ClientConnection(channel: channel)) } catch { failure = error }
    channel.close(promise: nil)
    try await channel.closeFuture.get()
    try await server.close()
    if let failure { throw failure }
  }

  /// A channel handler of a server that answers each request.
  private final class ServerConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let respond: (String) -> Promise<String>
    private var response: Promise<String>?

    init(_ respond: @escaping @Sendable (String) -> Promise<String>) { self.respond = respond }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let request = String(buffer: unwrapInboundIn(data))
      let response = respond(to: request)
      response.future(on: context.eventLoop).assumeIsolated()
        .whenComplete { result in self.write(result, context) }
      self.response = response
    }

    func channelInactive(context: ChannelHandlerContext) { response?.cancel() }

    private func respond(to request: String) -> Promise<String> { respond(request) }

    private func write(_ result: Result<String, any Error>, _ context: ChannelHandlerContext) {
      guard case .success(let text) = result else { return context.close(promise: nil) }
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
  }

  /// A client's connection, for one request at a time.
  private struct ClientConnection: Sendable {
    let channel: any Channel

    func request(_ text: String) -> EventLoopFuture<String> {
      channel.eventLoop.flatSubmit { [channel] in
        let reply = channel.eventLoop.makePromise(of: String.self)
        do {
          try channel.pipeline.syncOperations.handler(type: Replies.self).waiting = reply
          channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        } catch {
          reply.fail(error)
        }
        return reply.futureResult
      }
    }

    func close() { channel.close(promise: nil) }
  }

  private final class Replies: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var waiting: EventLoopPromise<String>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      waiting.take()?.succeed(String(buffer: unwrapInboundIn(data)))
    }

    func channelInactive(context: ChannelHandlerContext) {
      waiting.take()?.fail(ChannelError.eof)
    }
  }
#endif
