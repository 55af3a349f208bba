#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import Pledge
  import PledgeAsyncHTTPClient
  import PledgeNIO
  import PledgeTesting
  import Testing

  private struct Boom: Error, Equatable {}

  private enum Context { @TaskLocal static var id = "none" }

  @Suite struct RequestTests {
    @Test func load_hasTheResponse() async throws {
      try await withServer { client, server, _ in
        let response = try await expectFulfillment(of: client.load("\(server)/hello"))
        #expect(response.status == .ok)
        #expect(response.body.map { String(buffer: $0) } == "hello")
        let missing = try await expectFulfillment(of: client.load("\(server)/status/404"))
        #expect(missing.status == .notFound)
      }
    }

    @Test func load_sendsTheBody_alsoAfterARedirection() async throws {
      try await withServer { client, server, _ in
        for path in ["/echo", "/redirect"] {
          var request = try HTTPClient.Request(url: server + path, method: .POST)
          request.body = .string("tea")
          let response = try await expectFulfillment(of: client.load(request))
          #expect(response.body.map { String(buffer: $0) } == "tea")
        }
      }
    }

    @Test func failures_reject() async throws {
      try await withServer { client, server, _ in
        try await expectRejection(of: client.load("not a url"), with: HTTPClientError.self)
        // Nothing listens there.
        try await expectRejection(of: client.load("http://127.0.0.1:1/"))
        try await expectRejection(
          of: client.load("\(server)/size/1000", upTo: 999),
          with: ResponseAccumulator.ResponseTooBigError.self)
        let fits = client.load("\(server)/size/1000", upTo: 1000)
        #expect(try await expectFulfillment(of: fits).body?.readableBytes == 1000)
        let late = client.load("\(server)/silent", deadline: .now() + .milliseconds(5))
        try await expectRejection(of: late, with: HTTPClientError.deadlineExceeded)
      }
    }

    @Test func transientErrors_areThoseOfConnections() async throws {
      try await withServer { client, server, log in
        let urls = [
          "\(server)/closed", "\(server)/cut", "http://127.0.0.1:1/", "http://nowhere.invalid/",
        ]
        var errors: [any Error] = []
        for url in urls { errors.append(try await expectRejection(of: client.load(url))) }
        #expect(errors.filter { !HTTPClient.isTransient($0) }.isEmpty)
        let all = try await expectRejection(of: Promise.any(urls.map { client.load($0) }))
        #expect(HTTPClient.isTransient(all))

        let lasting = [
          client.load("not a url"), client.load("\(server)/size/1000", upTo: 999),
          client.load("\(server)/silent", deadline: .now() + .milliseconds(5)),
        ]
        errors = []
        for response in lasting { errors.append(try await expectRejection(of: response)) }
        #expect(errors.filter(HTTPClient.isTransient).isEmpty)
        #expect(!HTTPClient.isTransient(CancellationError()))
      }
    }

    @Test func transientErrors_areRetried() async throws {
      try await withServer { client, server, log in
        let policy = RetryPolicy.fixed(attempts: 3, delay: .zero).retrying(
          when: HTTPClient.isTransient)
        let response = Promise.retry(policy) { client.load("\(server)/closed/once") }
        let body = try await expectFulfillment(of: response).body
        #expect(body.map { String(buffer: $0) } == "open")
      }
    }

    @Test func cancelledLoad_closesTheRequest() async throws {
      try await withServer { client, server, log in
        let response = client.load("\(server)/silent")
        try await log.happens(.request("/silent"))
        response.cancel()
        try await expectCancellation(of: response)
        try await log.happens(.closed("/silent"))
      }
    }

    @Test func clientThatShutsDown_rejectsItsRequests() async throws {
      let requests = Recorder<Promise<HTTPClient.Response>>()
      try await withServer { client, server, log in
        let response = client.load("\(server)/silent")
        try await log.happens(.request("/silent"))
        requests.record(response)
      }
      try await expectRejection(of: try #require(requests.events.first))
    }
  }

  @Suite struct StreamTests {
    @Test func parts_arriveInOrder_oneAtATime() async throws {
      try await withServer { client, server, _ in
        let request = try HTTPClient.Request(url: "\(server)/size/3000000")
        let size = Recorder<Int>()
        let active = CallCounter()
        let done = CallCounter()
        let head = client.stream(request) { part in
          #expect(active.call() == done.count + 1)
          size.record(part.readableBytes)
          return Promise.value(()).map(on: .global) { _ = done.call() }
        }
        #expect(try await expectFulfillment(of: head).status == .ok)
        #expect(size.events.reduce(0, +) == 3_000_000)
        #expect(active.count == done.count)
      }
    }

    @Test func slowReceiver_slowsDownTheServer() async throws {
      try await withServer { client, server, log in
        let size = 256 << 20
        let request = try HTTPClient.Request(url: "\(server)/size/\(size)")
        let received = Recorder<Int>()
        let (gate, resolver) = Promise<Void>.withResolvers()
        let head = client.stream(request) { part in
          received.record(part.readableBytes)
          return gate
        }
        try await expectFulfillment(of: received.reaches(1).promise)
        try await log.happens(.blocked)
        // The server waits, and the receiver has had one part.
        #expect(received.count == 1)
        try expectPending(head)
        resolver.fulfill()
        try await expectFulfillment(of: head)
        #expect(received.events.reduce(0, +) == size)
      }
    }

    @Test func errorOfTheReceiver_endsTheRequest() async throws {
      try await withServer { client, server, log in
        let request = try HTTPClient.Request(url: "\(server)/part")
        try await expectRejection(of: client.stream(request) { _ in throw Boom() }, with: Boom())
        try await log.happens(.closed("/part"))
        let rejected = client.stream(request) { _ in
          Promise.value(()).map(on: .global) { throw Boom() }
        }
        try await expectRejection(of: rejected, with: Boom())
      }
    }

    @Test func headThatIsNotAccepted_endsTheRequest() async throws {
      try await withServer { client, server, _ in
        let request = try HTTPClient.Request(url: "\(server)/status/503")
        let received = CallCounter()
        let head = client.stream(
          request, accepting: { if $0.status != .ok { throw Boom() } },
          to: { _ in
            received.call()
            return .value(())
          })
        try await expectRejection(of: head, with: Boom())
        try received.expectNever()
      }
    }

    @Test func cancelledStream_closesTheRequest_andCancelsThePromiseOfItsReceiver() async throws {
      try await withServer { client, server, log in
        let request = try HTTPClient.Request(url: "\(server)/part")
        let parts = CallCounter()
        let told = Recorder<Void>()
        let begun = Recorder<Pledge.Resolver<Void>>()
        let head = client.stream(request) { _ in
          parts.call()
          return Promise { resolver in
            resolver.onCancel { told.record(()) }
            begun.record(resolver)
          }
        }
        try await expectFulfillment(of: begun.reaches(1).promise)
        head.cancel()
        try await expectCancellation(of: head)
        try await expectFulfillment(of: told.reaches(1).promise)
        try await log.happens(.closed("/part"))
        try parts.expectOnce()
      }
    }

    @Test func receiver_isNotCalledAfterTheCancellation() async throws {
      try await withServer { client, server, _ in
        let request = try HTTPClient.Request(url: "\(server)/size/3000000")
        let stream = Recorder<Promise<HTTPResponseHead>>()
        let parts = CallCounter()
        let head = client.stream(request) { _ in
          parts.call()
          // On another thread, while the loop has more parts at hand.
          let isDone = DispatchSemaphore(value: 0)
          Thread.detachNewThread {
            _ = try? stream.reaches(1).promise.wait()
            stream.events[0].cancel()
            isDone.signal()
          }
          isDone.wait()
          return .value(())
        }
        stream.record(head)
        try await expectCancellation(of: head)
        // The next request comes after the parts that were at hand.
        try await expectFulfillment(of: client.load("\(server)/hello"))
        try parts.expectOnce()
      }
    }

    @Test func receiver_seesTheContextOfTheRequest() async throws {
      TaskLocals.propagate(Context.$id)
      try await withServer { client, server, _ in
        let request = try HTTPClient.Request(url: "\(server)/hello")
        let seen = Recorder<String>()
        let head = Context.$id.withValue("r1") {
          client.stream(
            request, accepting: { _ in seen.record(Context.id) },
            to: { _ in
              seen.record(Context.id)
              return .value(())
            })
        }
        try await expectFulfillment(of: head)
        #expect(seen.events == ["r1", "r1"])
      }
    }
  }

  @Suite struct BodyTests {
    @Test func parts_areSentInOrder() async throws {
      try await withServer { client, server, _ in
        for length in [nil, 10] as [Int64?] {
          var request = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
          request.body = .writing(contentLength: length) { body in
            body.send(ByteBuffer(string: "hello"))
              .then(on: .global) { body.send(ByteBuffer(string: ", tea")) }
          }
          let response = try await expectFulfillment(of: client.load(request))
          #expect(response.body.map { String(buffer: $0) } == "hello, tea")
        }
      }
    }

    @Test func writer_seesTheContextOfTheRequest() async throws {
      TaskLocals.propagate(Context.$id)
      try await withServer { client, server, _ in
        let seen = Recorder<String>()
        var request = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
        request.body = .writing { body in
          seen.record(Context.id)
          return body.send(ByteBuffer(string: "tea")).map(on: .global) { seen.record(Context.id) }
        }
        let response = Context.$id.withValue("r2") { [request] in client.load(request) }
        try await expectFulfillment(of: response)
        #expect(seen.events == ["r2", "r2"])
      }
    }

    @Test func slowServer_slowsDownTheBody() async throws {
      try await withServer { client, server, log in
        let part = ByteBuffer(repeating: 1, count: 1 << 20)
        let parts = 256
        let isHeld = Recorder<Int>()
        @Sendable func send(_ number: Int, _ body: HTTPClient.Body.StreamWriter) -> Promise<Void> {
          if number == parts { return .value(()) }
          let sent = body.send(part)
          if sent.isPending { isHeld.record(number) }
          return sent.then(on: .immediate) { send(number + 1, body) }
        }
        var request = try HTTPClient.Request(url: "\(server)/upload", method: .POST)
        request.body = .writing { send(0, $0) }
        let response = client.load(request)
        try await expectFulfillment(of: isHeld.reaches(1).promise)
        try await log.happens(.request("/upload"))
        try expectPending(response)
        log.gate.signal()
        let answer = try await expectFulfillment(of: response)
        #expect(answer.body.map { String(buffer: $0) } == "\(parts << 20)")
      }
    }

    @Test func errorOfTheBody_failsTheRequest() async throws {
      try await withServer { client, server, _ in
        var request = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
        request.body = .writing { _ in throw Boom() }
        try await expectRejection(of: client.load(request), with: Boom())
        request.body = .writing { body in
          body.send(ByteBuffer(string: "a")).map(on: .global) { throw Boom() }
        }
        try await expectRejection(of: client.load(request), with: Boom())
      }
    }

    @Test func redirectBeforeTheEndOfABody_cancelsTheBody() async throws {
      try await withServer { client, server, _ in
        let told = Recorder<Void>()
        let calls = CallCounter()
        var request = try HTTPClient.Request(url: "\(server)/early", method: .POST)
        request.body = .writing { body in
          let sent = body.send(ByteBuffer(string: "tea"))
          if calls.call() > 1 { return sent }
          sent.ignoreErrors()
          return Promise { resolver in
            resolver.onCancel {
              told.record(())
              resolver.reject(CancellationError())
            }
          }
        }
        let response = try await expectFulfillment(of: client.load(request))
        #expect(response.body.map { String(buffer: $0) } == "tea")
        try await expectFulfillment(of: told.reaches(1).promise)
      }
    }

    @Test func cancelledRequest_cancelsItsBody() async throws {
      try await withServer { client, server, log in
        let told = Recorder<Void>()
        let begun = Recorder<Pledge.Resolver<Void>>()
        var request = try HTTPClient.Request(url: "\(server)/echo", method: .POST)
        request.body = .writing { body in
          body.send(ByteBuffer(string: "a")).then(on: .immediate) {
            Promise<Void> { resolver in
              resolver.onCancel { told.record(()) }
              begun.record(resolver)
            }
          }
        }
        let response = client.load(request)
        try await expectFulfillment(of: begun.reaches(1).promise)
        response.cancel()
        try await expectCancellation(of: response)
        try await expectFulfillment(of: told.reaches(1).promise)
        try await log.happens(.closed("/echo"))
      }
    }
  }

  /// Many requests, some of which are cancelled: for leaks, and for the sanitizer.
  @Suite struct RoundsTests {
    @Test func manyRequests_leaveNothingBehind() async throws {
      try await withServer { client, server, _ in
        let tracker = LifetimeTracker()
        let limiter = Limiter(16)
        let isFull = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1"
        let rounds = isFull ? 100_000 : 10_000
        let request = try HTTPClient.Request(url: "\(server)/hello")
        var fulfilled = 0
        for start in stride(from: 0, to: rounds, by: 1000) {
          let work = (start..<start + 1000).map { number in
            let token = tracker.track()
            return limiter.run(on: .immediate) {
              number.isMultiple(of: 2)
                ? client.load(request).map(on: .immediate) { _ in withExtendedLifetime(token) {} }
                : client.stream(request) { _ in withExtendedLifetime(token) { .value(()) } }
                  .asVoid()
            }
          }
          for (index, promise) in work.enumerated() where index.isMultiple(of: 50) {
            promise.cancel()
          }
          for promise in work {
            if case .success = await promise.result { fulfilled += 1 }
          }
        }
        #expect(fulfilled >= rounds / 50 * 49)
        #expect(tracker.madeCount == rounds)
        try await tracker.expectNoneAlive()
      }
    }
  }
#endif
