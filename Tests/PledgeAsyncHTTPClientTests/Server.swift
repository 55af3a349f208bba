#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  @_spi(DropIns) import Pledge
  import PledgeTesting

  /// What happened at the server.
  enum ServerEvent: Hashable, Sendable {
    /// A request for this path has arrived.
    case request(String)
    /// The connection on which this path was requested is closed.
    case closed(String)
    /// The client doesn't read for the time being.
    case blocked
  }

  /// Calls `body` with a client and the address of a server on loopback, and closes both.
  ///
  /// `/hello` greets, `/echo` returns the body, `/silent` never answers, `/size/N` sends N bytes as fast as
  /// the client reads, `/part` sends a part and no end, `/status/N` answers with that status, `/redirect`
  /// leads to `/echo`, as does `/early` before it has read the body, and `/upload` doesn't read its body
  /// before the log's gate is open. `/closed` closes the connection instead of answering, `/closed/once`
  /// for its first request only, and `/cut` in the middle of the body.
  func withServer(_ body: (HTTPClient, String, ServerLog) async throws -> Void) async throws {
    let log = ServerLog()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = try await ServerBootstrap(group: group).serverChannelOption(.backlog, value: 256)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(ServerHandler(log))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    var configuration = HTTPClient.Configuration()
    // A server that isn't there fails a request at once.
    configuration.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let port = server.localAddress?.port ?? 0
    var failure: (any Error)?
    do { try await body(client, "http://127.0.0.1:\(port)", log) } catch { failure = error }
    try await client.shutdown()
    try await server.close()
    try await group.shutdownGracefully()
    if let failure { throw failure }
  }

  /// What happened at a server, and what it waits for.
  final class ServerLog: Sendable {
    private let events = Mutex<Set<ServerEvent>>([])
    /// When it is fulfilled, uploads are read.
    let gate = Promise<Void>.withResolvers()

    // Most tests don't open the gate, and nothing then waits for it.
    deinit { gate.resolver.abandon() }

    /// Records an event; returns whether it is the first of its kind.
    @discardableResult
    func record(_ event: ServerEvent) -> Bool { events.withLock { $0.insert(event).inserted } }

    /// Returns when this has happened.
    func happens(_ event: ServerEvent) async throws {
      try await waitUntil { events.withLock { $0.contains(event) } }
    }
  }

  /// One connection.
  private final class ServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let log: ServerLog
    private var path = ""
    private var isFirst = false
    private var body = ByteBuffer()
    private var uploaded = 0
    private var bytesLeft = 0
    private var isSending = false

    init(_ log: ServerLog) { self.log = log }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        path = head.uri
        body.clear()
        uploaded = 0
        isFirst = log.record(.request(path))
        if path == "/upload" { holdReading(context) }
        if path == "/early" {
          send(context, .temporaryRedirect, ByteBuffer(), ["location": "/echo"])
        }
      case .body(let part):
        if path == "/upload" {
          uploaded += part.readableBytes
        } else {
          body.writeImmutableBuffer(part)
        }
      case .end: answer(context)
      }
    }

    func channelInactive(context: ChannelHandlerContext) { log.record(.closed(path)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      if context.channel.isWritable { sendMore(context) } else { log.record(.blocked) }
    }

    private func holdReading(_ context: ChannelHandlerContext) {
      let channel = context.channel
      channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess { [log] in
        log.gate.promise.future(on: channel.eventLoop).whenSuccess {
          channel.setOption(.autoRead, value: true).whenComplete { _ in }
        }
      }
    }

    private func answer(_ context: ChannelHandlerContext) {
      let number = path.split(separator: "/").last.flatMap { Int($0) } ?? 0
      switch path {
      case "/hello": send(context, .ok, ByteBuffer(string: "hello"))
      case "/echo": send(context, .ok, body)
      case "/upload": send(context, .ok, ByteBuffer(string: "\(uploaded)"))
      case "/redirect": send(context, .temporaryRedirect, ByteBuffer(), ["location": "/echo"])
      case "/part":
        sendHead(context, .ok)
        context.writeAndFlush(
          wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "part")))), promise: nil)
      case "/closed": context.close(promise: nil)
      case "/closed/once" where isFirst: context.close(promise: nil)
      case "/closed/once": send(context, .ok, ByteBuffer(string: "open"))
      case "/cut":
        sendHead(context, .ok, ["content-length": "9"])
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "part")))))
          .assumeIsolated().whenComplete { _ in context.close(promise: nil) }
      case _ where path.hasPrefix("/size/"):
        sendHead(context, .ok, ["content-length": "\(number)"])
        bytesLeft = number
        sendMore(context)
      case _ where path.hasPrefix("/status/"):
        send(context, .init(statusCode: number), ByteBuffer(string: "status"))
      default: break
      }
    }

    private func send(
      _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ body: ByteBuffer,
      _ fields: HTTPHeaders = [:]
    ) {
      var headers = fields
      headers.add(name: "content-length", value: "\(body.readableBytes)")
      sendHead(context, status, headers)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private func sendHead(
      _ context: ChannelHandlerContext, _ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:]
    ) {
      context.write(
        wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))),
        promise: nil)
    }

    /// Sends until the client no longer reads.
    private func sendMore(_ context: ChannelHandlerContext) {
      // A flush can change whether the channel is writable, and call this again.
      guard bytesLeft > 0, !isSending else { return }
      isSending = true
      defer { isSending = false }
      while bytesLeft > 0, context.channel.isWritable {
        let size = min(bytesLeft, 1 << 16)
        bytesLeft -= size
        context.writeAndFlush(
          wrapOutboundOut(.body(.byteBuffer(ByteBuffer(repeating: 7, count: size)))), promise: nil)
      }
      if bytesLeft == 0 { context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil) }
    }
  }
#endif
