@Suite struct PipelineTests {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  private let clock = TestClock()

  private func breaker(_ count: Int = 1) -> CircuitBreaker {
    CircuitBreaker(.consecutiveFailures(count), openDuration: .seconds(10), clock: clock)
  }

  /// Runs an operation in one of three forms.
  private func run(
    _ form: Int, _ pipeline: ResiliencePipeline,
    _ operation: @escaping @Sendable () throws -> Promise<Int>
  ) -> Promise<Int> {
    switch form {
    case 0: pipeline.run { try operation() }
    case 1: pipeline.run { () async throws -> Int in try await operation().value }
    default: Promise { try await pipeline.perform { try await operation().value } }
    }
  }

  @Test func withoutPolicies_itRunsTheOperation() async throws {
    let pipeline = ResiliencePipeline()
    for form in 0..<3 {
      try await expectFulfillment(of: run(form, pipeline) { .value(7) }, with: 7)
      try await expectRejection(of: run(form, pipeline) { throw Boom() }, with: Boom())
    }
    #expect("\(pipeline)" == "ResiliencePipeline: no policies")
  }

  @Test func guarantee_isTheResult_likeAPromise() async throws {
    let pipeline = ResiliencePipeline(.timeout(.seconds(2)), clock: clock)
    try await expectFulfillment(of: pipeline.run { Guarantee.value(7) }, with: 7)
    try await expectFulfillment(of: breaker().run { Guarantee.value(7) }, with: 7)
    let late = pipeline.run { Promise<Int>.never.replaceError(with: 0) }
    await clock.run(until: late)
    try await expectRejection(of: late, with: TimeoutError(duration: .seconds(2)))
  }

  @Test func description_namesThePoliciesInOrder() {
    let pipeline = ResiliencePipeline(
      .timeout(.seconds(9)), .retry(.fixed(attempts: 3)), .limiter(Limiter(1)),
      .circuitBreaker(breaker()))
    #expect(
      "\(pipeline)"
        == "ResiliencePipeline: timeout (9.0 seconds), retry (3 attempts), limiter, circuit breaker"
    )
  }

  @Test(arguments: 0..<3)
  func timeoutInsideRetry_limitsEachAttempt_outsideItLimitsAll(form: Int) async throws {
    let each = ResiliencePipeline(
      .retry(.fixed(attempts: 3, delay: .zero)), .timeout(.seconds(2)), clock: clock)
    let first = run(form, each) { .never }
    await clock.run(until: first)
    try await expectRejection(of: first, with: TimeoutError(duration: .seconds(2)))
    #expect(clock.now.offset == .seconds(6))

    let all = ResiliencePipeline(
      .timeout(.seconds(2)), .retry(.fixed(attempts: 3, delay: .seconds(9))), clock: clock)
    let second = run(form, all) { .rejected(Boom()) }
    await clock.run(until: second)
    // The delay is cancelled.
    try await expectRejection(of: second, with: TimeoutError(duration: .seconds(2)))
    await clock.noSleepers()
  }

  @Test(arguments: 0..<3)
  func breakerInsideRetry_seesEachAttempt_outsideItOnlyTheLast(form: Int) async throws {
    let (inner, outer) = (breaker(2), breaker(2))
    let retry = ResiliencePipeline.Policy.retry(.fixed(attempts: 3, delay: .zero))
    let first = run(form, ResiliencePipeline(retry, .circuitBreaker(inner))) { throw Boom() }
    try await expectRejection(of: first, with: CircuitOpenError.self)
    let second = run(form, ResiliencePipeline(.circuitBreaker(outer), retry)) { throw Boom() }
    try await expectRejection(of: second, with: Boom())
    #expect(outer.state == .closed)
  }

  @Test(arguments: 0..<3)
  func limiterOutsideRetry_keepsThePlaceDuringDelays_insideItGivesItBack(form: Int) async throws {
    for isOutside in [true, false] {
      let limiter = Limiter(1)
      let retry = ResiliencePipeline.Policy.retry(.fixed(attempts: 2, delay: .seconds(1)))
      let pipeline =
        isOutside
        ? ResiliencePipeline(.limiter(limiter), retry, clock: clock)
        : ResiliencePipeline(retry, .limiter(limiter), clock: clock)
      let result = run(form, pipeline) { .rejected(Boom()) }
      await clock.sleepers(atLeast: 1)
      #expect(limiter.runningCount == (isOutside ? 1 : 0))
      await clock.run(until: result)
      try await expectRejection(of: result, with: Boom())
      try await expectFulfillment(of: limiter.idle())
    }
  }

  @Test func perform_acceptsWhatIsntSendable_andKeepsTheIsolation() async throws {
    let parser = Parser()
    let pipeline = ResiliencePipeline(
      .timeout(.seconds(60)), .retry(.fixed(attempts: 3, delay: .zero)), .limiter(Limiter(1)),
      .circuitBreaker(breaker(5)), .timeout(.seconds(5)), clock: clock)
    let result = try await pipeline.perform {
      parser.calls += 1
      if parser.calls < 3 { throw Boom() }
      return parser
    }
    #expect(result.calls == 3)
    try await Task { @MainActor in
      var calls = 0
      try await pipeline.perform {
        MainActor.assertIsolated()
        calls += 1
      }
      #expect(calls == 1)
      try await pipeline.run {
        MainActor.assertIsolated()
        return Promise<Void>()
      }.value
    }.value
    await clock.noSleepers()
  }

  @Test(arguments: 0..<3)
  func cancellation_atEachPoint_leavesNothingBehind(form: Int) async throws {
    for point in 0..<4 {
      let (limiter, breaker) = (Limiter(1), breaker())
      let pipeline = ResiliencePipeline(
        .timeout(.seconds(100)), .retry(.fixed(attempts: 3, delay: .seconds(1))), .limiter(limiter),
        .circuitBreaker(breaker), .timeout(.seconds(50)), clock: clock)
      // It waits for the limiter, for a probe, for the delay, or in a probe.
      let (started, start) = Promise<Void>.withResolvers()
      switch point {
      case 0: limiter.pause()
      case 2: breaker.open()
      case 3:
        _ = try? await breaker.perform { throw Boom() }
        await clock.advance(by: .seconds(10))
      default: break
      }
      let call = run(form, pipeline) {
        start.fulfill()
        return .never
      }
      switch point {
      case 0: await clock.sleepers(atLeast: 1)
      case 2: await clock.sleepers(atLeast: 2)
      default: try await started.value
      }
      call.cancel()
      try await expectCancellation(of: call)
      limiter.resume()
      breaker.close()
      try await expectFulfillment(of: limiter.idle())
      await clock.noSleepers()
      #expect(try await pipeline.perform { 1 } == 1)
      withExtendedLifetime(start) {}
    }
  }

  @Test func copies_shareTheirState_fromManyThreads() async throws {
    let (limiter, breaker) = (Limiter(3), breaker(.max))
    let pipeline = ResiliencePipeline(
      .retry(.fixed(attempts: 3, delay: .zero)), .limiter(limiter), .circuitBreaker(breaker))
    let running = Box((now: 0, most: 0, total: 0))
    await inEightTasks(rounds: 500) { random in
      let copy = pipeline
      let isFailure = Int.random(in: 0..<4, using: &random) == 0
      _ = try? await copy.perform {
        running.update { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) }
        defer { running.update { $0.now -= 1 } }
        await Task.yield()
        if isFailure { throw Boom() }
      }
    }
    #expect(running.value.most <= 3 && running.value.total > 4_000)
    #expect(limiter.runningCount == 0)
  }
}
