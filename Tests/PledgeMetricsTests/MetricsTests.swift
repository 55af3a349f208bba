#if Metrics
  import Metrics
  import MetricsTestKit
  import Pledge
  import PledgeMetrics
  import PledgeTesting
  import Testing

  private struct Boom: Error {}

  extension TestMetrics {
    fileprivate func count(_ label: String, _ dimensions: [(String, String)] = []) throws -> Int64 {
      try expectCounter(label, dimensions).totalValue
    }

    fileprivate func level(_ label: String, _ tags: [(String, String)] = []) throws -> Double {
      try expectMeter(label, tags).lastValue ?? 0
    }

    fileprivate func levels(_ label: String, _ dimensions: [(String, String)]) throws -> [Double] {
      try expectMeter(label, dimensions).values
    }
  }

  @Suite struct CircuitMetricsTests {
    @Test func calls_areCountedByResult_andTheStateIsMeasured() async throws {
      let (metrics, clock) = (TestMetrics(), TestClock())
      let breaker = CircuitBreaker(
        .consecutiveFailures(2), openDuration: .seconds(10), clock: clock
      ).measured(as: "users", factory: metrics)
      func calls(_ result: String) throws -> Int64 {
        try metrics.count("pledge.breaker.calls", [("breaker", "users"), ("result", result)])
      }
      _ = try await breaker.perform { 1 }
      _ = try? await breaker.perform { throw CancellationError() }
      for _ in 0..<3 { _ = try? await breaker.perform { throw Boom() } }
      #expect(try calls("success") == 1)
      #expect(try calls("cancelled") == 1)
      #expect(try calls("failure") == 2)
      #expect(try calls("rejected") == 1)
      let name = [("breaker", "users")]
      #expect(try metrics.count("pledge.breaker.opened", name) == 1)
      #expect(try metrics.level("pledge.breaker.open", name) == 1)
      await clock.advance(by: .seconds(10))
      let probing = try await breaker.perform { try metrics.level("pledge.breaker.open", name) }
      #expect(probing == 0.5)
      #expect(try metrics.level("pledge.breaker.open", name) == 0)
    }
  }

  @Suite struct LoaderMetricsTests {
    private let name = [("loader", "users")]

    @Test func requestsAndBatches_areCounted() async throws {
      let (metrics, clock) = (TestMetrics(), TestClock())
      let loader = DataLoader<Int, Int>(delay: .seconds(1), caching: .init(), clock: clock) {
        keys in
        if keys == [3] { throw Boom() }
        return Dictionary(uniqueKeysWithValues: keys.map { ($0, .success($0)) })
          .filter { $0.key != 2 }
      }.measured(as: "users", factory: metrics)
      for keys in [[1, 2, 1], [3], [1]] {
        let promises = keys.map { loader.promise(for: $0) }
        await clock.advance(by: .seconds(1))
        for promise in promises { _ = await promise.result }
      }
      func requests(_ result: String) throws -> Int64 {
        try metrics.count("pledge.loader.requests", name + [("result", result)])
      }
      #expect(try requests("started") == 3)
      #expect(try requests("joined") == 1)
      #expect(try requests("cached") == 1)
      #expect(try metrics.expectRecorder("pledge.loader.batch.size", name).values == [2, 1])
      for reason in ["threw", "mismatch"] {
        let dimensions = name + [("reason", reason)]
        #expect(try metrics.count("pledge.loader.batch.failures", dimensions) == 1)
      }
    }
  }

  @Suite struct LimiterMetricsTests {
    private let name = [("limiter", "database")]
    private let metrics = TestMetrics()

    /// The numbers of operations that run, and that wait.
    private var levels: [Double] {
      get throws {
        try ["running", "waiting"].map { try metrics.level("pledge.limiter.\($0)", name) }
      }
    }

    @Test func operations_areCounted_fromSubmissionToEnd() async throws {
      let limiter = Limiter(2, queueCapacity: 1).measured(as: "database", factory: metrics)
      let (gate, resolver) = Promise<Void>.withResolvers()
      let operations = (0..<3).map { _ in limiter.run(on: .immediate) { gate.map { 1 } } }
      #expect(try levels == [2, 1])
      try await expectRejection(
        of: limiter.run { Promise.value(1) }, with: Limiter.QueueFullError.self)
      #expect(try metrics.count("pledge.limiter.rejected", name) == 1)
      resolver.fulfill()
      for operation in operations { try await expectFulfillment(of: operation) }
      try await expectFulfillment(of: limiter.idle())
      #expect(try levels == [0, 0])
      #expect(try metrics.levels("pledge.limiter.running", name).max() == 2)
    }

    @Test func theLimit_isMeasured_alsoIfItsAdaptive() async throws {
      let limiter = Limiter(adaptive: 1...100, initial: 50)
        .measured(as: "database", factory: metrics)
      #expect(try metrics.level("pledge.limiter.limit", name) == 50)
      _ = try? await limiter.perform { throw TimeoutError(duration: .zero) }
      #expect(try metrics.level("pledge.limiter.limit", name) == 45)
      limiter.limit = 20
      #expect(try metrics.level("pledge.limiter.limit", name) == 20)
    }

    @Test func withdrawnAndClearedOperations_waitNoLonger() async throws {
      let limiter = Limiter(1).measured(as: "database", factory: metrics)
      limiter.pause()
      let operations = (0..<5).map { _ in limiter.run { Promise.value(1) } }
      #expect(try metrics.level("pledge.limiter.waiting", name) == 5)
      operations[2].cancel()
      operations[2].cancel()
      #expect(try metrics.level("pledge.limiter.waiting", name) == 4)
      limiter.clear()
      #expect(try metrics.level("pledge.limiter.waiting", name) == 0)
      limiter.clear()
      limiter.resume()
      for operation in operations { try await expectCancellation(of: operation) }
      #expect(try levels == [0, 0])
    }

    @Test func limiterThatIsDeallocated_leavesNothingWaiting() async throws {
      var limiter: Limiter? = Limiter(1).measured(as: "database", factory: metrics)
      limiter?.pause()
      let operation = limiter?.run { Promise.value(1) }
      #expect(try metrics.level("pledge.limiter.waiting", name) == 1)
      limiter = nil
      #expect(try metrics.level("pledge.limiter.waiting", name) == 0)
      operation?.cancel()
      operation?.ignoreErrors()
      #expect(try metrics.level("pledge.limiter.waiting", name) == 0)
    }

    @Test func limiter_measuresHowLongOperationsWaitAndRun() async throws {
      let clock = TestClock()
      let limiter = Limiter(
        adaptive: 1...1, initial: 1, queueCapacity: nil, clock: clock
      ).measured(as: "database", factory: metrics)
      let gates = (0..<2).map { _ in Promise<Void>.withResolvers() }
      let operations = gates.map { gate in limiter.run(on: .immediate) { gate.promise } }
      await clock.advance(by: .milliseconds(3))
      gates[0].resolver.fulfill()
      try await expectFulfillment(of: operations[0])
      await clock.advance(by: .milliseconds(4))
      gates[1].resolver.fulfill()
      try await expectFulfillment(of: operations[1])
      #expect(try metrics.expectTimer("pledge.limiter.wait", name).values == [0, 3_000_000])
      #expect(try metrics.expectTimer("pledge.limiter.run", name).values == [3_000_000, 4_000_000])
    }

    @Test func limiterInUse_startsWithItsOperations() async throws {
      let limiter = Limiter(1)
      let (gate, resolver) = Promise<Void>.withResolvers()
      let operations = (0..<2).map { _ in limiter.run(on: .immediate) { gate.map { 1 } } }
      limiter.measured(as: "database", factory: metrics)
      #expect(try levels == [1, 1])
      resolver.fulfill()
      for operation in operations { try await expectFulfillment(of: operation) }
      #expect(try levels == [0, 0])
    }

    @Test func operation_counts_beforeItCanStart() async throws {
      let limiter = Limiter(1, queueCapacity: 0).measured(as: "database", factory: metrics)
      let waiting = Recorder<Int>()
      limiter.monitors.add { event in
        // Another thread can start an operation as soon as it is in the queue.
        if case .waiting(1) = event { waiting.record(limiter.waitingCount) }
      }
      limiter.pause()
      try await expectRejection(
        of: limiter.run { Promise.value(1) }, with: Limiter.QueueFullError.self)
      #expect(try metrics.level("pledge.limiter.waiting", name) == 0)
      limiter.resume()
      try await expectFulfillment(of: limiter.run { Promise.value(1) })
      #expect(try metrics.level("pledge.limiter.waiting", name) == 0)
      // An operation for which there is room doesn't wait.
      #expect(waiting.events == [0])
    }

    /// Detects leaks, and data races under ThreadSanitizer.
    @Test func manyOperationsAtOnce_leaveNothingBehind() async throws {
      let tracker = LifetimeTracker()
      let limiter = Limiter(8).measured(as: "database", factory: metrics)
      let users = RequestCoalescer<Int, LifetimeTracker.Token>()
        .measured(as: "users", factory: metrics)
      let rounds = 100_000
      for start in stride(from: 0, to: rounds, by: 1000) {
        let promises = (start..<start + 1000).map { number in
          limiter.run(on: .global) { users.promise(for: number) { .value(tracker.track()) } }
        }
        for (index, promise) in promises.enumerated() where index.isMultiple(of: 7) {
          promise.cancel()
        }
        for promise in promises { _ = await promise.result }
      }
      try await expectFulfillment(of: limiter.idle())
      try await tracker.expectNoneAlive()
      #expect(try levels == [0, 0])
    }
  }

  @Suite struct CoalescerMetricsTests {
    @Test func requests_areCountedByTheirResult() async throws {
      let (metrics, clock) = (TestMetrics(), TestClock())
      let users = RequestCoalescer<Int, String>(
        caching: .init(lifetime: .seconds(10), staleLifetime: .seconds(10)), clock: clock
      ).measured(as: "users", factory: metrics)
      func count(_ result: String) throws -> Int64 {
        try metrics.count(
          "pledge.coalescer.requests", [("coalescer", "users"), ("result", result)])
      }
      let (work, resolver) = Promise<String>.withResolvers()
      let first = users.promise(for: 1) { work }
      let second = users.promise(for: 1) { .value("no") }
      #expect(try count("started") == 1)
      #expect(try count("joined") == 1)
      resolver.fulfill("Ada")
      try await expectFulfillment(of: first, with: "Ada")
      try await expectFulfillment(of: second, with: "Ada")
      try await expectFulfillment(of: users.promise(for: 1) { .value("no") }, with: "Ada")
      #expect(try count("cached") == 1)
      await clock.advance(by: .seconds(15))
      try await expectFulfillment(of: users.promise(for: 1) { .value("Eva") }, with: "Ada")
      #expect(try count("stale") == 1)
      #expect(try count("started") == 1)
      await clock.advance(by: .seconds(15))
      try await expectFulfillment(of: users.promise(for: 1) { .rejected(Boom()) }, with: "Eva")
      #expect(try count("stale") == 2)
      #expect(try metrics.count("pledge.coalescer.failed_refreshes", [("coalescer", "users")]) == 1)
    }
  }

  @Suite struct RetryMetricsTests {
    private let name = [("policy", "users")]
    private let metrics = TestMetrics()
    private let clock = TestClock()

    @Test func retries_areCountedForTheirPolicy() async throws {
      let policy = RetryPolicy.fixed(attempts: 3, delay: .zero)
        .measured(as: "users", factory: metrics)
      let attempts = CallCounter()
      let result = Promise.retry(policy, clock: ContinuousClock()) {
        attempts.call() < 3 ? Promise<Int>.rejected(Boom()) : .value(1)
      }
      try await expectFulfillment(of: result, with: 1)
      #expect(try metrics.count("pledge.retries", name) == 2)
      #expect(try metrics.count("pledge.retries.exhausted", name) == 0)
      let failing = Promise.retry(policy, clock: ContinuousClock()) {
        Promise<Int>.rejected(Boom())
      }
      try await expectRejection(of: failing, with: Boom.self)
      #expect(try metrics.count("pledge.retries", name) == 4)
      #expect(try metrics.count("pledge.retries.exhausted", name) == 1)
    }

    @Test func operationWhoseDeadlinePasses_isExhausted() async throws {
      var policy = RetryPolicy.fixed(attempts: 9, delay: .seconds(2))
        .measured(as: "users", factory: metrics)
      policy.deadline = .seconds(3)
      let attempts = CallCounter()
      let failing = Promise.retry(on: .immediate, policy, clock: clock) {
        attempts.call()
        return Promise<Int>.rejected(Boom())
      }
      await clock.run(until: failing)
      try await expectRejection(of: failing, with: Boom.self)
      #expect(attempts.count == 2)
      #expect(try metrics.count("pledge.retries", name) == 1)
      #expect(try metrics.count("pledge.retries.exhausted", name) == 1)
    }

    @Test func operationThatIsCancelledDuringADelay_isNotRetried() async throws {
      let policy = RetryPolicy.fixed(attempts: 9, delay: .seconds(2))
        .measured(as: "users", factory: metrics)
      let failing = Promise.retry(policy, clock: clock) { Promise<Int>.rejected(Boom()) }
      await clock.sleepers(atLeast: 1)
      failing.cancel()
      try await expectCancellation(of: failing)
      #expect(try metrics.count("pledge.retries", name) == 0)
      #expect(try metrics.count("pledge.retries.exhausted", name) == 0)
    }
  }

  /// The metrics of the process include the promises of all tests in it, so these tests compare
  /// with a lower bound, or use a process of their own.
  @Suite(.serialized) struct ProcessMetricsTests {
    private static let metrics: TestMetrics = {
      let metrics = TestMetrics()
      MetricsSystem.bootstrap(metrics)
      PromiseMetrics.start()
      return metrics
    }()

    private let metrics = Self.metrics

    @Test func retriesWithoutANamedPolicy_areCounted() async throws {
      let before = try metrics.count("pledge.retries")
      let exhausted = try metrics.count("pledge.retries.exhausted")
      let failing = Promise.retry(.fixed(attempts: 4, delay: .zero), clock: ContinuousClock()) {
        Promise<Int>.rejected(Boom())
      }
      try await expectRejection(of: failing, with: Boom.self)
      #expect(try metrics.count("pledge.retries") >= before + 3)
      #expect(try metrics.count("pledge.retries.exhausted") >= exhausted + 1)
    }

    @Test func hedges_areCounted() async throws {
      let before = try metrics.count("pledge.hedges")
      let clock = TestClock()
      let (slow, resolver) = Promise<Int>.withResolvers()
      let calls = CallCounter()
      let result = Promise.hedged(attempts: 3, delay: .seconds(1), clock: clock) {
        calls.call() < 3 ? slow : .value(3)
      }
      await clock.run(until: result)
      try await expectFulfillment(of: result, with: 3)
      #expect(try metrics.count("pledge.hedges") >= before + 2)
      withExtendedLifetime(resolver) {}
    }

    @Test func timers_areCounted_whetherTheyFireOrAreRemoved() async throws {
      let clock = TestClock()
      let fired = try metrics.count("pledge.timers.fired")
      // Other tests of the process have timers, too, also some from before the meter, so this
      // examines the number of its changes.
      let steps = try metrics.levels("pledge.timers.pending", []).count
      var removed: Promise<Void>? = Promise.after(.seconds(3600))
      let fires = Promise<Void>.after(.seconds(1), clock: clock)
      #expect(try metrics.levels("pledge.timers.pending", []).count >= steps + 2)
      await clock.run(until: fires)
      try await expectFulfillment(of: fires)
      removed?.cancel()
      removed = nil
      #expect(try metrics.count("pledge.timers.fired") >= fired + 1)
      #expect(try metrics.levels("pledge.timers.pending", []).count >= steps + 4)
    }

    @Test func unhandledRejections_areCounted() async throws {
      let before = try metrics.count("pledge.unhandled_rejections")
      PromiseDiagnostics.setUnhandledRejectionHandler { _ in }
      defer { PromiseDiagnostics.setUnhandledRejectionHandler(nil) }
      _ = Promise<Int>.rejected(Boom())
      #expect(try metrics.count("pledge.unhandled_rejections") >= before + 1)
    }
  }
#endif
