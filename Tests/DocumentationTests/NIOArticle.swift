#if NIO
  import NIOCore
  import NIOPosix
  import Pledge
  import PledgeNIO
  import PledgeTesting
  import Testing

  // NIOPosix has a protocol of that name.
  typealias Resolver = Pledge.Resolver

  /// The examples of EventLoops.md, and those of Integrations.md that need an event loop.
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

    @Test func recommendations() async throws {
      let channel = LoopbackChannel()
      let loop = channel.eventLoop
      let future = loop.makeSucceededFuture(1)
      try await expectFulfillment(of: future.promise, with: 1)

      let open = loop.makePromise(of: Void.self)
      let connection = LoopbackChannel(closeFuture: open.futureResult)
      try await {
        let channel = connection
        let closed = channel.closeFuture.promise
        closed.then { Promise.value(1) }.cancel()
        // The only consumer has cancelled, and the channel is still open.
        let cleanUp = closed.then { Promise.value(2) }
        try expectPending(cleanUp)
        open.succeed(())
        try await expectFulfillment(of: cleanUp, with: 2)
      }()

      let page = Promise.value(3)
      #expect(try await page.future(on: loop).get() == 3)
      try await expectFulfillment(
        of: page.done(on: .eventLoop(loop)) { _ in #expect(loop.inEventLoop) })
    }

    @Test func resolversInAFileThatImportsNIOPosix() async throws {
      let (promise, resolver): (Promise<Int>, Resolver<Int>) = Promise.withResolvers()
      resolver.fulfill(1)
      try await expectFulfillment(of: promise, with: 1)
    }

    @Test func channelHandlers() async throws {
      let channel = LoopbackChannel()
      let written = try await channel.eventLoop.submit {
        let connection = ServerConnection(on: channel.eventLoop)
        connection.channelRead("request", context: channel)
        return connection.written.futureResult
      }.flatMap { $0 }.get()
      #expect(written == "response")
    }
  }

  /// As much of a channel handler as the examples need: not `Sendable`, as those are.
  private final class ServerConnection {
    let written: EventLoopPromise<String>

    init(on loop: any EventLoop) { written = loop.makePromise() }

    func channelRead(_ request: String, context: LoopbackChannel) {
      let response = respond(to: request)
      response.future(on: context.eventLoop).assumeIsolated()
        .whenComplete { result in self.write(result, context) }
    }

    private func respond(to request: String) -> Promise<String> { .value("response") }

    private func write(_ result: Result<String, any Error>, _ context: LoopbackChannel) {
      written.completeWith(result)
    }
  }

  /// As much of a channel as the examples need.
  private struct LoopbackChannel {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let closeFuture: EventLoopFuture<Void>

    init(closeFuture: EventLoopFuture<Void>? = nil) {
      self.closeFuture = closeFuture ?? eventLoop.makeSucceededVoidFuture()
    }

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
