#if AsyncHTTPClient && Metrics && ServiceLifecycle
  import AsyncHTTPClient
  import MetricsTestKit
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import Pledge
  import PledgeAsyncHTTPClient
  import PledgeLifecycle
  import PledgeMetrics
  import PledgeNIO
  import PledgeTesting
  import Testing

  /// What the author of a server does first.
  @Suite struct FirstDayTests {
    @Test func anUploadThatIsCancelledMidway_releasesItsSource() async throws {
      try await withServer { client, server, log in
        let opened = CallCounter()
        let released = Recorder<Void>()
        let sent = CallCounter()
        var request = try HTTPClient.Request(url: "\(server)/upload", method: .POST)
        let total = 10_000
        request.body = .writing { body in
          Promise.using(
            Promise(on: .global) { opened.call() }, release: { _ in released.record(()) }
          ) { _ in
            Promise().reduce(0..<total) { _, _ in
              sent.call()
              return body.send(ByteBuffer(repeating: 7, count: 1 << 16))
            }
          }
        }
        let upload = client.load(request)
        try await expectFulfillment(of: log.happens(.request("/upload")))
        try await waitUntil { sent.count >= 10 }
        upload.cancel()
        try await expectCancellation(of: upload)
        try await expectFulfillment(of: released.reaches(1).promise)
        #expect(sent.count < total)
        // The server reads again, and finds that the client has left.
        log.gate.resolver.fulfill()
        try await expectFulfillment(of: log.happens(.closed("/upload")))
        // The client goes on.
        try await expectFulfillment(of: client.load("\(server)/hello"))
        #expect(opened.count == 1 && released.count == 1)
      }
    }

    @Test func aShutdownWithQueuedRequests_sendsNoneOfThem() async throws {
      try await withServer { client, server, log in
        let clock = TestClock()
        let metrics = TestMetrics()
        let limiter = Limiter(2).measured(as: "backend", factory: metrics)
        let scope = GracefulScope(limiter: limiter, deadline: .seconds(5), clock: clock)
        let pages = (0..<6).map { number in
          scope.run { client.load("\(server)/silent/\(number)") }
        }
        for number in 0..<2 {
          try await expectFulfillment(of: log.happens(.request("/silent/\(number)")))
        }
        async let cancelled = scope.drain()
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(5))
        #expect(await cancelled == 6)
        for page in pages { try await expectCancellation(of: page) }
        for number in 0..<2 {
          try await expectFulfillment(of: log.happens(.closed("/silent/\(number)")))
        }
        try await expectFulfillment(of: limiter.idle())
        try await expectFulfillment(of: client.load("\(server)/hello"))
        for number in 2..<6 {
          let request = log.happens(.request("/silent/\(number)"))
          try expectPending(request)
          request.cancel()
        }
        for label in ["pledge.limiter.running", "pledge.limiter.waiting"] {
          #expect(try metrics.expectMeter(label, [("limiter", "backend")]).lastValue == 0)
        }
      }
    }

    @Test func aClientThatShutsDown_rejectsItsRequests() async throws {
      let requests = Recorder<Promise<HTTPClient.Response>>()
      try await withServer { client, server, log in
        let response = client.load("\(server)/silent")
        try await expectFulfillment(of: log.happens(.request("/silent")))
        requests.record(response)
      }
      try await expectRejection(of: try #require(requests.events.first))
    }

    @Test func aLoop_answersFromAPromise_anActor_andATask() async throws {
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let loop = group.next()
      try await withServer { client, server, _ in
        let page = client.load("\(server)/size/10").map(on: .immediate) { response in
          response.body?.readableBytes ?? 0
        }
        // As handlers of a channel do it: with a future, on the loop, and in a task.
        let flat = loop.flatSubmit { page.future(on: loop) }
        let task = loop.makeFutureWithTask { try await page.value }
        let handled = page.map(on: .eventLoop(loop)) { size in loop.inEventLoop ? size : -1 }
        let blocked = loop.submit { () throws -> Int in
          try Promise<Int>.never.wait()
        }
        try await expectFulfillment(of: flat.promise, with: 10)
        try await expectFulfillment(of: task.promise, with: 10)
        try await expectFulfillment(of: handled, with: 10)
        try await expectRejection(of: blocked.promise, with: DeadlockError.self)
      }
      try await group.shutdownGracefully()
    }
  }
#endif
