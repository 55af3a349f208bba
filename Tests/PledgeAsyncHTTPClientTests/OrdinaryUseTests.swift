#if AsyncHTTPClient && Metrics && ServiceLifecycle
  import AsyncHTTPClient
  import Foundation
  import MetricsTestKit
  import NIOCore
  import NIOEmbedded
  import NIOHTTP1
  import NIOPosix
  import Pledge
  import PledgeAsyncHTTPClient
  import PledgeFoundation
  import PledgeLifecycle
  import PledgeMetrics
  import PledgeNIO
  import PledgeTesting
  import PledgeTestingTraits
  import Testing

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// What a server does with several integrations at once.
  @Suite struct OrdinaryUseTests {
    @Test func aProxy_pipesAResponseIntoARequest() async throws {
      try await withServer { client, server, log in
        log.gate.resolver.fulfill()
        let source = try HTTPClient.Request(url: "\(server)/size/3000000")
        var target = try HTTPClient.Request(url: "\(server)/upload", method: .POST)
        target.body = .writing { body in client.stream(source) { body.send($0) }.asVoid() }
        let response = try await expectFulfillment(of: client.load(target))
        #expect(response.body.map { String(buffer: $0) } == "3000000")
      }
    }

    @Test func aProxyWhoseClientLeaves_closesBothConnections() async throws {
      try await withServer { client, server, log in
        let source = try HTTPClient.Request(url: "\(server)/part")
        var target = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
        target.body = .writing { body in client.stream(source) { body.send($0) }.asVoid() }
        let response = client.load(target)
        try await expectFulfillment(of: log.happens(.request("/echo")))
        try await expectFulfillment(of: log.happens(.request("/part")))
        response.cancel()
        try await expectCancellation(of: response)
        try await expectFulfillment(of: log.happens(.closed("/echo")))
        try await expectFulfillment(of: log.happens(.closed("/part")))
      }
    }

    @Test func aProxyWhoseSourceFails_failsTheRequest() async throws {
      try await withServer { client, server, log in
        let source = try HTTPClient.Request(url: "\(server)/status/503")
        var target = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
        target.body = .writing { body in
          client.stream(
            source,
            accepting: { head in
              if head.status != .ok {
                throw HTTPStatusError(status: Int(head.status.code), url: source.url)
              }
            }, to: { body.send($0) }
          ).asVoid()
        }
        let error = try await expectRejection(of: client.load(target), with: HTTPStatusError.self)
        #expect(error.status == 503)
        try await expectFulfillment(of: log.happens(.closed("/echo")))
      }
    }

    @Test func aHedge_overtakesASilentMirror_andClosesItsConnection() async throws {
      try await withServer { client, server, log in
        let paths = CallCounter()
        let page = Promise.hedged(on: .immediate, delay: .milliseconds(1)) {
          client.load(server + (paths.call() == 1 ? "/silent" : "/hello"))
        }
        #expect(try await expectFulfillment(of: page).status == .ok)
        try await expectFulfillment(of: log.happens(.closed("/silent")))
      }
    }

    @Test func shutdownDuringHedges_endsAllOfThem_withinTheDeadline() async throws {
      try await withServer { client, server, log in
        let clock = TestClock()
        let limiter = Limiter(4)
        let scope = GracefulScope(limiter: limiter, deadline: .seconds(5), clock: clock)
        let paths = CallCounter()
        let pages = (0..<2).map { _ in
          scope.run {
            Promise.hedged(delay: .milliseconds(1)) {
              client.load(server + (paths.call() <= 2 ? "/silent" : "/part"))
            }
          }
        }
        try await expectFulfillment(of: log.happens(.request("/silent")))
        try await expectFulfillment(of: log.happens(.request("/part")))
        async let cancelled = scope.drain()
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(5))
        #expect(await cancelled == 2)
        for page in pages { try await expectCancellation(of: page) }
        try await expectFulfillment(of: log.happens(.closed("/silent")))
        try await expectFulfillment(of: log.happens(.closed("/part")))
        try await expectFulfillment(of: limiter.idle())
        #expect(scope.pendingCount == 0)
      }
    }

    @Test func loops_shareARequest_andOneThatGivesUpLeavesTheOthers() async throws {
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
      try await withServer { client, server, log in
        let pages = RequestCoalescer<String, Int>()
        let starts = CallCounter()
        let (gate, resolver) = Promise<Void>.withResolvers()
        let loops = Array(group.makeIterator())
        let requests = loops.map { loop in
          loop.submit {
            pages.promise(for: "size") {
              starts.call()
              return client.load("\(server)/size/1000")
                .then(on: .immediate) { response in
                  gate.map(on: .immediate) { response.body?.readableBytes ?? 0 }
                }
            }
          }.promise
        }
        // Each loop has made its request before one of them gives up.
        let pagesOfLoops = try await Promise.all(requests).value
        let sizes = zip(loops, pagesOfLoops).map { loop, size in
          size.map(on: .eventLoop(loop)) { size in
            #expect(loop.inEventLoop)
            return size
          }
        }
        let impatient = sizes[0].timeout(after: .milliseconds(1), on: loops[0])
        try await expectRejection(of: impatient, with: TimeoutError.self)
        resolver.fulfill()
        for size in sizes.dropFirst() { try await expectFulfillment(of: size, with: 1000) }
        try starts.expectOnce()
      }
      try await group.shutdownGracefully()
    }

    @Test func cancelledRequests_leaveTheMetersOfTheirLimiterAtZero() async throws {
      try await withServer { client, server, log in
        let metrics = TestMetrics()
        let limiter = Limiter(2).measured(as: "backend", factory: metrics)
        let requests = (0..<6).map { _ in
          limiter.run(on: .immediate) { client.load("\(server)/silent") }
        }
        try await expectFulfillment(of: log.happens(.request("/silent")))
        let all = Promise.all(requests)
        all.cancel()
        for request in requests { try await expectCancellation(of: request) }
        try await expectFulfillment(of: limiter.idle())
        for label in ["pledge.limiter.running", "pledge.limiter.waiting"] {
          #expect(try metrics.expectMeter(label, [("limiter", "backend")]).lastValue == 0)
        }
        try await expectFulfillment(of: log.happens(.closed("/silent")))
      }
    }

    @Test func virtualTimeOfALoop_timesARequestOut() async throws {
      try await withServer { client, server, log in
        let loop = NIOAsyncTestingEventLoop()
        let response = client.load("\(server)/part").timeout(after: .seconds(5), on: loop)
        try await expectFulfillment(of: log.happens(.request("/part")))
        await loop.advanceTime(by: .seconds(4))
        try expectPending(response)
        await loop.advanceTime(by: .seconds(1))
        try await expectRejection(of: response, with: TimeoutError.self)
        try await expectFulfillment(of: log.happens(.closed("/part")))
        await loop.shutdownGracefully()
      }
    }

    @Test func retries_sendAStreamedBodyAgain_andEndWithTheLastStatus() async throws {
      try await withServer { client, server, _ in
        let bodies = CallCounter()
        var request = try HTTPClient.Request(url: "\(server)/status/503", method: .POST)
        request.body = .writing { body in
          bodies.call()
          return body.send(ByteBuffer(string: "tea"))
        }
        let policy = RetryPolicy.fixed(attempts: 3).retryingTransientErrors()
        let page = Promise.retry(policy) { [request] in
          client.load(request).map { response in
            if response.status == .ok { return }
            throw HTTPStatusError(status: Int(response.status.code), url: request.url)
          }
        }
        try await expectRejection(of: page, with: HTTPStatusError.self)
        #expect(bodies.count == 3)
      }
    }

    @Test(.checksPromises) func aTestThatChecksItsPromises_canUseAServer() async throws {
      try await withServer { client, server, log in
        let page = client.load("\(server)/hello").timeout(after: .seconds(60))
        #expect(try await page.value.status == .ok)
        let late = client.load("\(server)/silent")
        try await log.happens(.request("/silent")).value
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
      }
    }

    @Test func clientsOfFoundation_meetAServerOfNIO() async throws {
      try await withServer { _, server, log in
        let url = try #require(URL(string: server))
        let session = URLSession(configuration: .ephemeral)
        let (data, _) = try await expectFulfillment(
          of: session.load(url.appendingPathComponent("hello")).validate())
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(
          UUID().uuidString)
        let download = session.download(url.appendingPathComponent("part"), to: file)
        try await expectFulfillment(of: log.happens(.request("/part")))
        download.cancel()
        try await expectCancellation(of: download)
        try await expectFulfillment(of: log.happens(.closed("/part")))
        #expect(!FileManager.default.fileExists(atPath: file.path))
        session.invalidateAndCancel()
      }
    }

    @Test func aServerOfPromises_answersOnItsLoop_andStopsWhenTheClientLeaves() async throws {
      let work = Recorder<Pledge.Resolver<String>>()
      let told = Recorder<Void>()
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let server = try await ServerBootstrap(group: group)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(
              PromiseHandler {
                Promise<String> { resolver in
                  resolver.onCancel { told.record(()) }
                  work.record(resolver)
                }
              })
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      let client = HTTPClient(eventLoopGroupProvider: .singleton)
      let url = "http://127.0.0.1:\(server.localAddress?.port ?? 0)/"

      let answered = client.load(url)
      try await expectFulfillment(of: work.reaches(1).promise)
      work.events[0].fulfill("tea")
      let response = try await expectFulfillment(of: answered)
      #expect(response.body.map { String(buffer: $0) } == "tea")

      let left = client.load(url)
      try await expectFulfillment(of: work.reaches(2).promise)
      left.cancel()
      try await expectFulfillment(of: told.reaches(1).promise)

      try await client.shutdown()
      try await server.close()
      try await group.shutdownGracefully()
    }
  }

  /// A handler of a server's connection that answers each request with the value of a promise.
  private final class PromiseHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let respond: () -> Promise<String>
    private var response: Promise<String>?

    init(_ respond: @escaping () -> Promise<String>) { self.respond = respond }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .end = unwrapInboundIn(data) else { return }
      let response = respond()
      self.response = response
      response.future(on: context.eventLoop).assumeIsolated().whenSuccess { text in
        self.response = nil
        let body = ByteBuffer(string: text)
        let headers = HTTPHeaders([("content-length", "\(body.readableBytes)")])
        context.write(
          self.wrapOutboundOut(.head(.init(version: .http1_1, status: .ok, headers: headers))),
          promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
      }
    }

    func channelInactive(context: ChannelHandlerContext) { response?.cancel() }
  }
#endif
