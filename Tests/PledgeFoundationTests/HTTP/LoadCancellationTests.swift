extension FoundationTests {
  @Suite struct CancellingLoads {
    let server: TestServer
    let session = URLSession(configuration: .ephemeral)

    init() throws { server = try TestServer() }

    @Test(arguments: ["/hang", "/slow"], [false, true])
    func cancel_afterTheRequestArrived_hangsUp(path: String, withProgress: Bool) async throws {
      let promise = session.load(try server.url(path), progress: progress(withProgress))
      await server.next(.arrived(path)).value
      promise.cancel()
      await #expect(throws: CancellationError.self) { try await promise.value }
      await server.next(.hungUp(path)).value
      try await waitUntil { server.openConnections == 0 }
    }

    @Test(arguments: [false, true])
    func cancel_atOnce_rejectsAndHoldsNoConnection(withProgress: Bool) async throws {
      let promise = session.load(try server.url("/hang"), progress: progress(withProgress))
      promise.cancel()
      await #expect(throws: CancellationError.self) { try await promise.value }
      try await waitUntil { server.openConnections == 0 }
    }

    @Test(arguments: [false, true])
    func cancel_afterSettlement_changesNothing(withProgress: Bool) async throws {
      let promise = session.load(try server.url("/ok"), progress: progress(withProgress))
      _ = try await promise.value
      promise.cancel()
      #expect(try await promise.value.data == Data("hello".utf8))
    }

    @Test func cancel_ofTheProgress_cancelsThePromise() async throws {
      let progress = Progress(totalUnitCount: -1)
      let promise = session.load(try server.url("/slow"), progress: progress)
      await server.next(.arrived("/slow")).value
      progress.cancel()
      await #expect(throws: CancellationError.self) { try await promise.value }
      await server.next(.hungUp("/slow")).value
    }

    @Test func load_withACancelledProgress_isCancelled() async throws {
      let progress = Progress(totalUnitCount: -1)
      progress.cancel()
      let promise = session.load(try server.url("/hang"), progress: progress)
      await #expect(throws: CancellationError.self) { try await promise.value }
      try await waitUntil { server.openConnections == 0 }
    }

    @Test func cancellation_thatIsNotThePromises_staysURLError() async throws {
      let promise = Promise<(data: Data, response: URLResponse)>.rejected(URLError(.cancelled))
      let error = await #expect(throws: URLError.self) { try await promise.validate().value }
      #expect(error?.code == .cancelled)
    }

    @Test(arguments: [0, 1, 2]) func cancel_aroundTheEnd_settlesOnce(phase: Int) async throws {
      for round in 0..<150 {
        let promise = session.load(try server.url("/ok"))
        if phase > 0 { await server.next(.arrived("/ok")).value }
        if phase > 1 { for _ in 0..<(round * 2) { await Task.yield() } }
        promise.cancel()
        switch await promise.result {
        case .success(let answer): #expect(answer.data.count == 5)
        case .failure(let error): #expect(error is CancellationError)
        }
      }
    }

    @Test(arguments: [false, true])
    func cancel_manyTimes_leavesNoSocketOpen(withProgress: Bool) async throws {
      let before = try openDescriptors("socket:")
      for round in 0..<40 {
        let promise = session.load(try server.url("/hang"), progress: progress(withProgress))
        if round.isMultiple(of: 2) { await server.next(.arrived("/hang")).value }
        promise.cancel()
        await #expect(throws: CancellationError.self) { try await promise.value }
      }
      try await waitUntil { server.openConnections == 0 }
      try await waitUntil { try openDescriptors("socket:") <= before + 4 }
    }
  }
}
