@_spi(DropIns) import Pledge

// Bad input for policies that share work, run several operations, or limit their time.

extension BadInput {
  /// Returns 1 if the value of the first of two requests is cached, and 2 otherwise.
  private static func requestTwice(
    _ caching: CoalescerCaching, _ clock: TestClock
  ) -> Promise<Int> {
    let requests = RequestCoalescer<String, Int>(caching: caching, clock: clock)
    return requests.promise(for: "key") { .value(1) }
      .then(on: .immediate) { _ in requests.promise(for: "key") { .value(2) } }
  }

  private static func load(_ loader: DataLoader<Int, Int>) -> Promise<Int> {
    // The loader would load what waits when it is deallocated.
    loader.promise(for: 1).tap(on: .immediate) { _ in withExtendedLifetime(loader) {} }
  }

  static let shared =
    calls("CoalescerCaching, lifetime", (past, .runs(2)), (forever, .runs(1))) {
      requestTwice(.init(lifetime: $0), $1)
    }
    + calls("CoalescerCaching, staleLifetime", past, .runs(1)) {
      requestTwice(.init(lifetime: Duration.seconds(1), staleLifetime: $0), $1)
    }
    + calls("CoalescerCaching, staleLifetime", forever, .runs(1)) {
      requestTwice(.init(lifetime: Duration.zero, staleLifetime: $0), $1)
    }
    + calls("CoalescerCaching, interval", pastIntervals, .runs(2)) {
      requestTwice(.init(lifetime: $0), $1)
    }
    + calls("CoalescerCaching, capacity", [0] + belowZero, .runs(2)) {
      requestTwice(.init(lifetime: Duration.seconds(1), capacity: $0), $1)
    }
    + calls("DataLoader, maxBatchSize", (belowOne, .invalidArgument), ([Int.max], .runs())) {
      size, clock in
      load(DataLoader(maxBatchSize: size, clock: clock, ones))
    }
    + calls("DataLoader, delay", (past, .runs()), (forever, .waits)) { delay, clock in
      load(DataLoader(delay: delay, clock: clock, ones))
    }
    + calls("DataLoader, interval", pastIntervals, .runs()) { delay, _ in
      load(DataLoader(delay: delay, ones))
    }
    + calls("LatestOnly", (past, .runs()), (forever, .waits)) { debounce, clock in
      LatestOnly<Int>(debounce: debounce, clock: clock).runAlone()
    }
    + calls("LatestOnly, interval", never, .waits) { debounce, _ in
      LatestOnly<Int>(debounce: debounce).runAlone()
    }

  @Sendable private static func ones(_ keys: [Int]) async -> [Int: Result<Int, any Error>] {
    Dictionary(uniqueKeysWithValues: keys.map { ($0, .success(1)) })
  }

  private static let arriving = AsyncStream<Int> { continuation in
    continuation.yield(1)
    continuation.finish()
  }

  private static func concurrent(_ limits: [Int], _ outcome: Outcome) -> [BadInput] {
    calls("all(_:concurrently:)", limits, outcome) { limit, _ in
      Promise.all([1], concurrently: limit) { Promise.value($0) }.map(on: .immediate) { $0[0] }
    }
      + calls("all(_:concurrently:) of tasks", limits, outcome) { limit, _ in
        Promise.all([1], concurrently: limit) { (one: Int) async throws in one }
          .map(on: .immediate) { $0[0] }
      }
      + calls("all(_:concurrently:) as they arrive", limits, outcome) { limit, _ in
        Promise.all(arriving, concurrently: limit) { _ in Promise.value(1) }
          .map(on: .immediate) { _ in 1 }
      }
      + calls("forEach(concurrently:)", limits, outcome) { limit, _ in
        arriving.forEach(concurrently: limit) { _ in Promise.value(()) }.map(on: .immediate) { 1 }
      }
      + calls("concurrentMap", limits, outcome) { limit, _ in
        Promise { try await concurrentMap([1], limit: limit) { $0 }[0] }
      }
      + calls("concurrentMap as they arrive", limits, outcome) { limit, _ in
        Promise {
          for try await _ in concurrentMap(arriving, limit: limit, { $0 }) {}
          return 1
        }
      }
      + calls("results(of:limit:)", limits, outcome) { limit, _ in
        Promise {
          for try await _ in results(of: [1], limit: limit, { $0 }) {}
          return 1
        }
      }
  }

  static let concurrent =
    concurrent(belowOne, .invalidArgument) + concurrent([.max], .runs())
    + calls("bufferLimit", [0] + belowZero + [Int.max], .runs(6)) { bufferLimit, _ in
      Promise {
        var sum = 0
        for try await (input, _) in results(
          of: 1...3, limit: 2, bufferLimit: bufferLimit, { $0 })
        { sum += input }
        return sum
      }
    }

  static let timeLimits =
    calls("withTimeout", (past, .timesOut), (forever, .waits)) { limit, clock in
      Promise { try await withTimeout(limit, clock: clock) { try await Promise<Int>.never.value } }
    }
    + calls("withTimeout, interval", pastIntervals, .timesOut) { limit, _ in
      Promise { try await withTimeout(limit) { try await Promise<Int>.never.value } }
    }
    + calls("withDeadline", (past, .timesOut), (forever, .waits)) { offset, clock in
      Promise {
        try await withDeadline(TestClock.Instant(offset: offset), clock: clock) {
          try await Promise<Int>.never.value
        }
      }
    }
    + calls("ResiliencePipeline, timeout", past, .timesOut) { limit, clock in
      ResiliencePipeline(.timeout(limit), clock: clock).run { Promise<Int>.never }
    }
    + calls("ResiliencePipeline, timeout of tasks", past, .timesOut) { limit, clock in
      Promise {
        try await ResiliencePipeline(.timeout(limit), clock: clock).perform {
          try await Promise<Int>.never.value
        }
      }
    }
    + calls("ResiliencePipeline, timeout", forever, .waits) { limit, clock in
      ResiliencePipeline(.timeout(limit), clock: clock).run { Promise<Int>.never }
    }
    + calls("ResiliencePipeline, attempts", belowOne, .invalidArgument) { attempts, clock in
      ResiliencePipeline(.retry(.fixed(attempts: attempts)), clock: clock).run { Promise.value(1) }
    }
    + calls("ResiliencePipeline, interval", pastIntervals, .timesOut) { limit, _ in
      ResiliencePipeline(.timeout(limit)).run { Promise<Int>.never }
    }
}

extension LatestOnly<Int> {
  /// Runs an operation; the object lives until it ends.
  fileprivate func runAlone() -> Promise<Int> {
    run { Promise.value(1) }.tap(on: .immediate) { _ in withExtendedLifetime(self) {} }
  }
}
