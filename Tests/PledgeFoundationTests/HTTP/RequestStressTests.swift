extension FoundationTests {
  /// Requests of all kinds that end in all ways, at random times, in sessions of all kinds.
  ///
  /// `PLEDGE_FULL=1` makes 10,000 of them.
  @Suite struct RequestStress {
    let server: TestServer
    let folder: TemporaryFolder
    let kept = URLSession(configuration: .ephemeral)
    // Its delegate is called on a concurrent queue.
    let delegated = URLSession(
      configuration: .ephemeral, delegate: Redirecting { $0 }, delegateQueue: OperationQueue())
    let body = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
    let count = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1" ? 10_000 : 400

    init() throws {
      server = try TestServer()
      folder = try TemporaryFolder()
      try body.write(to: folder.file("body"))
    }

    @Test func requests_thatEndInAllWays_settleWithTheRightError() async throws {
      let before = try openDescriptors("")
      let outcomes = Recorder<String>()
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<count {
          // A few at a time.
          if index >= 16 { await group.next() }
          group.addTask {
            var random = SeededRandom(seed: UInt64(index))
            outcomes.record(await request(&random))
          }
        }
      }
      #expect(outcomes.count == count)
      #expect(outcomes.events.filter { $0.hasPrefix("wrong") } == [])
      try await waitUntil { server.openConnections <= 8 * 6 }
      // Idle companions keep some connections.
      try await waitUntil { try openDescriptors("") <= before + 100 }
      #expect(try folder.names.allSatisfy { !$0.hasSuffix(".partial") })
    }

    @Test func sessions_thatAreGone_holdFewDescriptors() async throws {
      let before = try openDescriptors("")
      for _ in 0..<count / 4 {
        let session = URLSession(configuration: .ephemeral)
        _ = try await session.load(server.url("/ok")).value
        session.finishTasksAndInvalidate()
      }
      try await waitUntil { try openDescriptors("") <= before + 50 }
    }

    private func session(_ random: inout SeededRandom) -> (URLSession, isOwn: Bool) {
      switch random.next(5) {
      case 0: (kept, false)
      case 1: (.shared, false)
      case 2: (delegated, false)
      default: (URLSession(configuration: .ephemeral), true)
      }
    }

    /// Makes a request, and returns the name of what happened.
    private func request(_ random: inout SeededRandom) async -> String {
      let (session, isOwn) = session(&random)
      let path = random.pick(["echo", "echo", "bytes/70000", "truncated", "hang", "slow"])
      let hops = random.next(4)
      guard
        var request = try? URLRequest(
          url: server.url(hops > 0 ? "/hop/\(hops)/\(path)" : "/\(path)"))
      else { return "wrong: URL" }
      // Foundation on Linux rounds this down to the shortest possible timeout.
      let timesOut = random.next(4) == 0
      if timesOut { request.timeoutInterval = 0.5 }
      request.httpMethod = "POST"
      let file = folder.file("\(random.next(1 << 40))")
      let arrival: Promise<Data>
      switch random.next(5) {
      case 0: arrival = session.load(request).map(on: .immediate) { data, _ in data }
      case 1: arrival = session.upload(body, with: request).map(on: .immediate) { data, _ in data }
      case 2:
        arrival = session.upload(fileAt: folder.file("body"), with: request)
          .map(on: .immediate) { data, _ in data }
      case 3:
        arrival = session.download(request, to: file)
          .map(on: .immediate) { file, _ in try Data(contentsOf: file) }
      default:
        let pieces = Recorder<Data>()
        arrival = session.stream(request) { pieces.record($0) }
          .map(on: .immediate) { _ in pieces.events.reduce(into: Data()) { $0 += $1 } }
      }
      if isOwn, random.next(3) == 0 {
        for _ in 0..<random.next(200) { await Task.yield() }
        if random.next(2) == 0 {
          session.invalidateAndCancel()
        } else {
          session.finishTasksAndInvalidate()
        }
      }
      let neverEnds = path == "hang" || path == "slow"
      let result: Result<Data, any Error>
      var allowed: Set<String> = neverEnds ? [] : [path]
      if timesOut { allowed.insert("timed out") }
      switch neverEnds && !timesOut ? 1 + random.next(2) : random.next(3) {
      case 1:
        for _ in 0..<random.next(400) { await Task.yield() }
        arrival.cancel()
        allowed.insert("cancelled")
        result = await arrival.result
      case 2:
        allowed.insert("TimeoutError")
        result = await arrival.timeout(after: .microseconds(random.next(5000))).result
      default: result = await arrival.result
      }
      let outcome = name(of: result, path)
      return allowed.contains(outcome) ? outcome : "wrong: \(path) \(outcome) \(result)"
    }

    private func name(of result: Result<Data, any Error>, _ path: String) -> String {
      switch result {
      case .success(let data) where path == "echo":
        data == body || data.isEmpty ? path : "wrong body"
      case .success(let data) where path == "bytes/70000":
        data.count == 70_000 ? path : "wrong body"
      case .success: "wrong success"
      case .failure(is CancellationError): "cancelled"
      case .failure(is TimeoutError): "TimeoutError"
      case .failure(let error as URLError) where error.code == .timedOut: "timed out"
      case .failure(let error as URLError)
      where error.code == .unknown || error.code == .networkConnectionLost:
        path == "truncated" ? path : "wrong error"
      case .failure: "wrong error"
      }
    }
  }
}

extension SeededRandom {
  fileprivate mutating func next(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  fileprivate mutating func pick(_ names: [String]) -> String { names[next(names.count)] }
}
