extension FoundationTests {
  @Suite struct Streaming {
    let server: TestServer
    let session = URLSession(configuration: .ephemeral)
    let received = Recorder<Data>()

    init() throws { server = try TestServer() }

    private func stream(
      _ path: String, acceptsAnyStatus: Bool = false, progress: Progress? = nil
    ) throws -> Promise<URLResponse> {
      session.stream(
        try server.url(path), acceptsAnyStatus: acceptsAnyStatus, progress: progress
      ) { [received] in received.record($0) }
    }

    private var body: Data { received.events.reduce(into: Data()) { $0 += $1 } }

    @Test func stream_handsOnTheWholeBodyInPieces() async throws {
      let response = try await stream("/bytes/5000000").value
      #expect(response.status == 200)
      #expect(body == Data(repeating: 0x78, count: 5_000_000))
      #expect(received.count > 1)
    }

    @Test func stream_whileBytesArrive_handsThemOn() async throws {
      let progress = Progress(totalUnitCount: -1)
      let promise = try stream("/steps/2", progress: progress)
      server.step()
      try await waitUntil { body.count == 1000 && progress.completedUnitCount == 1000 }
      #expect(promise.isPending)
      server.step()
      _ = try await promise.value
      #expect(body.count == 2000)
      #expect(progress.isFinished && progress.completedUnitCount == 2000)
    }

    @Test func stream_whenStatusDoesNotTellOfSuccess_handsOnNothing() async throws {
      let promise = try stream("/status/404")
      let error = try await expectRejection(of: promise, with: HTTPStatusError.self)
      #expect(error.status == 404 && error.body == Data("status 404".utf8))
      #expect(received.count == 0)
    }

    @Test func stream_acceptingAnyStatus_handsOnTheBody() async throws {
      _ = try await stream("/status/404", acceptsAnyStatus: true).value
      #expect(body == Data("status 404".utf8))
    }

    @Test func stream_whenTheBodyIsCutOff_rejects() async throws {
      let promise = try stream("/truncated")
      await #expect(throws: URLError.self) { try await promise.value }
      #expect(body.count == 10)
    }

    @Test func stream_whenReceiveThrows_rejectsAndHangsUp() async throws {
      let promise = session.stream(try server.url("/slow")) { [received] data in
        received.record(data)
        throw Boom()
      }
      await #expect(throws: Boom.self) { try await promise.value }
      await server.next(.hungUp("/slow")).value
      #expect(received.count == 1)
    }

    @Test func cancel_whileBytesArrive_hangsUp() async throws {
      let promise = try stream("/slow")
      try await waitUntil { body.count == 10 }
      promise.cancel()
      await #expect(throws: CancellationError.self) { try await promise.value }
      await server.next(.hungUp("/slow")).value
      #expect(received.count == 1)
    }

    /// Streams `path` to a closure that waits for `gate`, and returns when it has been called.
    private func blockedStream(
      _ path: String, until gate: DispatchSemaphore
    ) async throws -> Promise<URLResponse> {
      let earlier = received.count
      let promise = session.stream(try server.url(path)) { [received] data in
        received.record(data)
        gate.wait()
      }
      try await waitUntil { received.count > earlier }
      return promise
    }

    @Test func receive_whileItBlocks_stopsNeitherOtherTransfersNorTheirCancellation() async throws {
      let gate = DispatchSemaphore(value: 0)
      defer { gate.signal() }
      let blocked = try await blockedStream("/ok", until: gate)
      let load = session.load(try server.url("/ok"))
      try await expectFulfillment(of: load.map { $0.data }, with: Data("hello".utf8))
      let folder = try TemporaryFolder()
      let download = session.download(try server.url("/ok"), to: folder.file("name"))
      try await expectFulfillment(of: download.map { $0.file }, with: folder.file("name"))
      let hanging = session.load(try server.url("/hang"))
      await server.next(.arrived("/hang")).value
      hanging.cancel()
      try await expectFulfillment(of: server.next(.hungUp("/hang")).promise)
      #expect(blocked.isPending)
      gate.signal()
      _ = try await blocked.value
      #expect(received.count == 1)
    }

    @Test func cancel_whileReceiveBlocks_hangsUpAndReceivesNothingMore() async throws {
      let gate = DispatchSemaphore(value: 0)
      defer { gate.signal() }
      for path in ["/slow", "/bytes/5000000"] {
        let promise = try await blockedStream(path, until: gate)
        promise.cancel()
        try await expectCancellation(of: promise)
        // The request itself would time out after 60 seconds.
        try await waitUntil(within: .seconds(30)) { server.openConnections == 0 }
        gate.signal()
      }
      // Nothing waits for the gate if no further piece was received.
      _ = try await stream("/ok").value
      let rest = received.events.dropFirst(2).reduce(into: Data()) { $0 += $1 }
      #expect(rest == Data("hello".utf8))
    }

    @Test(arguments: ["/ok", "/status/500", "/truncated", "/slow", "throws"])
    func receiver_isReleased(path: String) async throws {
      let lifetimes = LifetimeTracker()
      let promise = session.stream(try server.url(path == "throws" ? "/ok" : path)) {
        [token = lifetimes.track("receiver"), received] data in
        withExtendedLifetime(token) { received.record(data) }
        if path == "throws" { throw Boom() }
      }
      if path == "/slow" {
        try await waitUntil { body.count > 0 }
        promise.cancel()
      }
      _ = await promise.result
      try await lifetimes.expectNoneAlive()
    }
  }
}
