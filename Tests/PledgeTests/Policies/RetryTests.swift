/// `retry`, on a clock that the test controls.
@Suite struct Retrying {
  let clock = TestClock()
  let attempts = Recorder<Duration>()

  /// Returns an operation that fails `failures` times, and records its calls.
  private func operation(failures: Int) -> @Sendable () -> Promise<Int> {
    { [clock, attempts] in
      attempts.record(clock.now.offset)
      let count = attempts.count
      return count <= failures ? .rejected(Boom(code: count)) : .value(count)
    }
  }

  private func run(_ policy: RetryPolicy, failures: Int) async -> Promise<Int> {
    let promise = Promise.retry(policy, clock: clock, operation(failures: failures))
    await clock.run(until: promise)
    return promise
  }

  private static let requested = RetryPolicy.fixed(attempts: 3, delay: .seconds(1))
    .withRequestedDelay { ($0 as? Boom)?.code == 1 ? .seconds(100) : nil }

  @Test(
    arguments: [
      (.fixed(attempts: 4, delay: .seconds(60)), [0, 60, 120, 180]),
      (RetryPolicy(attempts: 4, delay: { made in Duration.seconds(made) }), [0, 1, 3, 6]),
      (.exponential(attempts: 6, from: .seconds(1), maximum: .seconds(5)), [0, 1, 3, 7, 12, 17]),
      (.fixed(attempts: 2, delay: .seconds(10)).withJitter { 0.25 }, [0, 2.5]),
      (requested, [0, 100, 101]),
    ] as [(RetryPolicy, [Double])])
  func attempts_startAfterTheDelays(policy: RetryPolicy, starts: [Double]) async throws {
    let promise = await run(policy, failures: starts.count - 1)
    try await expectFulfillment(of: promise, with: starts.count)
    #expect(attempts.events == starts.map { .seconds($0) })
  }

  @Test(arguments: [0, -1, 1, 1e21, 1e300, .infinity, -Double.infinity, .nan])
  func absurdFactors_stayBelowTheMaximum(factor: Double) {
    let policy = RetryPolicy.exponential(
      attempts: 5, from: .seconds(1), factor: factor, maximum: .seconds(30))
    for made in [0, 1, 2, 5, 1_000] {
      let delay = policy.delay(made)
      #expect(delay >= .zero && delay <= .seconds(30))
    }
  }

  @Test(arguments: [(-1, 0), (-Double.infinity, 0), (1, 10), (.infinity, 10), (.nan, 10)])
  func absurdJitter_countsAsNoneOrAllOfTheDelay(part: Double, seconds: Int) {
    let policy = RetryPolicy.fixed(attempts: 2, delay: .seconds(10)).withJitter { part }
    #expect(policy.delay(1) == .seconds(seconds))
  }

  @Test func anyNumberOfAttempts_hasADelay() {
    let policies = [
      RetryPolicy.exponential(attempts: .max, from: .seconds(1), factor: 1),
      .exponential(attempts: .max, from: .zero),
    ]
    for policy in policies {
      #expect(policy.delay(.max) <= .seconds(1) && policy.delay(.min) <= .seconds(1))
    }
  }

  @Test(arguments: RetryForm.allCases)
  func allFail_theErrorIsTheLastOne_andObserversLearnOfAll(form: RetryForm) async throws {
    let seen = Recorder<String>()
    let policy = RetryPolicy.fixed(attempts: 3, delay: .seconds(1))
      .observed { seen.record("\($0.number) \($0.error) \($0.delayInSeconds ?? -1)") }
      .observed { seen.record("\($0.number)") }
    let promise = form.retry(policy, clock) { .rejected(Boom(code: $0)) }
    await clock.run(until: promise)
    try await expectRejection(of: promise, with: Boom(code: 3))
    #expect(
      seen.events == [
        "1 Boom(code: 1) 1.0", "1", "2 Boom(code: 2) 1.0", "2", "3 Boom(code: 3) -1.0", "3",
      ])
  }

  @Test func aFailedAttempt_describesItself() async throws {
    let seen = Recorder<String>()
    let pauses: [Duration] = [.milliseconds(1500), .zero]
    let policy = RetryPolicy(attempts: 3) { pauses[$0 - 1] }.observed { seen.record("\($0)") }
    let promise = Promise<Int>.retry(policy, clock: clock) {
      seen.count == 1 ? .rejected(TimeoutError(duration: .seconds(2))) : .rejected(Boom(code: 7))
    }
    await clock.run(until: promise)
    #expect(
      seen.events == [
        "Attempt 1 failed: Boom(code: 7). The next attempt starts after 1.5 seconds.",
        "Attempt 2 failed: Timed out after 2.0 seconds. The next attempt starts immediately.",
        "Attempt 3 failed: Boom(code: 7). No other attempt follows.",
      ])
    try await expectRejection(of: promise, with: Boom.self)
  }

  @Test(
    arguments: [
      (RetryPolicy.fixed(attempts: 9, delay: .zero).retrying { ($0 as? Boom)?.code != 2 }, 2),
      (.fixed(attempts: 9, delay: .zero).retrying(only: OtherError.self), 1),
    ])
  func unwantedErrors_endIt(policy: RetryPolicy, attempt: Int) async throws {
    let promise = await run(policy, failures: 9)
    try await expectRejection(of: promise, with: Boom(code: attempt))
    #expect(attempts.count == attempt)
  }

  @Test func attemptTimeout_endsOneAttempt() async throws {
    let policy = RetryPolicy.fixed(attempts: 2, delay: .seconds(1)).withAttemptTimeout(.seconds(10))
    let (never, count) = (Promise<Int>.never, CallCounter())
    let promise = Promise<Int>.retry(policy, clock: clock) { count.call() == 1 ? never : .value(2) }
    await clock.run(until: promise)
    try await expectFulfillment(of: promise, with: 2)
    #expect(clock.now.offset == .seconds(11))
    try await expectCancellation(of: never)
  }

  @Test func delayThatWouldEndAfterTheDeadline_isNotStarted() async throws {
    let budget = RetryBudget(capacity: 9, tokensPerSuccess: 0)
    let policy = RetryPolicy.fixed(attempts: 100, delay: .seconds(10))
      .withBudget(budget).withDeadline(.seconds(35))
    // In place, so that an attempt has ended when its time limit starts.
    let promise = Promise.retry(on: .immediate, policy, clock: clock, operation(failures: 100))
    await clock.run(until: promise)
    try await expectRejection(of: promise, with: Boom(code: 4))
    #expect(attempts.events == [.zero, .seconds(10), .seconds(20), .seconds(30)])
    // The attempt that isn't made takes no token.
    #expect(budget.remaining == 6)
    await clock.noSleepers()
  }

  @Test(arguments: RetryForm.allCases)
  func deadlineDuringAnAttempt_isATimeout(form: RetryForm) async throws {
    let policy = RetryPolicy.fixed(attempts: 100, delay: .seconds(10))
      .withDeadline(.seconds(15)).withAttemptTimeout(.seconds(60))
    let never = Promise<Int>.never
    let promise = form.retry(policy, clock) { $0 == 1 ? .rejected(Boom()) : never }
    await clock.run(until: promise)
    try await expectRejection(of: promise, with: TimeoutError(duration: .seconds(15)))
    #expect(clock.now.offset == .seconds(15))
    try await expectCancellation(of: never)
  }

  @Test(arguments: RetryForm.allCases)
  func cancelledInADelay_releasesTheTimer_andPutsTheTokenBack(form: RetryForm) async throws {
    let budget = RetryBudget(capacity: 2, tokensPerSuccess: 0)
    let policy = RetryPolicy.fixed(attempts: 9, delay: .seconds(10)).withBudget(budget)
    let calls = CallCounter()
    let promise = form.retry(policy, clock) { _ in
      calls.call()
      return .rejected(Boom())
    }
    await clock.advance(by: .seconds(10))
    // One attempt was made again, and the next one is pending.
    #expect(budget.remaining == 0)
    promise.cancel()
    try await expectCancellation(of: promise)
    await clock.settle()
    #expect(clock.sleeperCount == 0 && budget.remaining == 1 && calls.count == 2)
  }

  @Test func cancellationError_isNotRetried() async throws {
    let count = CallCounter()
    let promise = Promise<Int>.retry(.fixed(attempts: 9), clock: clock) {
      count.call()
      return .rejected(CancellationError())
    }
    try await expectCancellation(of: promise)
    try count.expectOnce()
  }

  @Test(.apart) func manyAttempts_areLinear() async throws {
    let promise = Promise<Int>.retry(on: .immediate, .fixed(attempts: 30_000, delay: .zero)) {
      .rejected(Boom())
    }
    try await expectRejection(of: promise, with: Boom.self)
  }

  @Test func attemptsInPlaceWithoutADelay_returnToTheCaller() async throws {
    let queue = DispatchQueue(label: "caller")
    let caller = ExecutorProbe(queue)
    let attempts = Recorder<Bool>()
    let promise = queue.sync {
      Promise<Int>.retry(on: .immediate, .fixed(attempts: 3, delay: .zero)) {
        attempts.record(caller.isCurrent)
        return .rejected(Boom())
      }
    }
    try await expectRejection(of: promise, with: Boom.self)
    #expect(attempts.events == [true, false, false])
  }

  @Test(arguments: [2, 10]) func aBudget_endsTheRetriesOfAll(successesPerToken: Int) async throws {
    let budget = RetryBudget(capacity: 2, tokensPerSuccess: 1 / Double(successesPerToken))
    let policy = RetryPolicy.fixed(attempts: 9, delay: .zero).withBudget(budget)
    try await expectRejection(of: await run(policy, failures: 99), with: Boom.self)
    #expect(attempts.count == 3 && budget.remaining == 0)
    for _ in 0..<successesPerToken {
      _ = try await Promise.retry(policy, clock: clock) { Promise.value(1) }.value
    }
    #expect(budget.remaining == 1)
  }

  /// The attempts that reach the service, and the tokens left, when the breaker opens after
  /// `failures` of them.
  @Test(arguments: [(0, 3), (1, 3), (2, 2)])
  func aRetryThatAnOpenBreakerRejects_takesNoToken(failures: Int, remaining: Int) async throws {
    let budget = RetryBudget(capacity: 3, tokensPerSuccess: 0)
    let policy = RetryPolicy.fixed(attempts: 5, delay: .seconds(1)).withBudget(budget)
    let breaker = CircuitBreaker(
      .consecutiveFailures(max(failures, 1)), openDuration: .seconds(60), clock: clock)
    if failures == 0 { breaker.open() }
    let promise = Promise.retry(on: .immediate, policy, clock: clock) { [clock, attempts] in
      breaker.run { () -> Promise<Int> in
        attempts.record(clock.now.offset)
        return .rejected(Boom())
      }
    }
    await clock.run(until: promise)
    try await expectRejection(of: promise, with: CircuitOpenError.self)
    #expect(attempts.count == failures && budget.remaining == remaining)
  }

  @Test func theFirstAttemptThatReachesTheService_takesNoToken() async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 0)
    let policy = RetryPolicy.fixed(attempts: 4, delay: .seconds(1)).withBudget(budget)
    let breaker = CircuitBreaker(.consecutiveFailures(9), clock: clock)
    breaker.open()
    let promise = Promise.retry(on: .immediate, policy, clock: clock) { [clock, attempts] in
      breaker.run { () -> Promise<Int> in
        attempts.record(clock.now.offset)
        return attempts.count < 2 ? .rejected(Boom()) : .value(7)
      }
    }
    await clock.advance(by: .milliseconds(500))
    breaker.close()
    await clock.run(until: promise)
    try await expectFulfillment(of: promise, with: 7)
    // The second one took the only token.
    #expect(attempts.count == 2 && budget.remaining == 0)
  }

  @Test func aDeadlineOnWorkThatIgnoresCancellation_returnsOnTime() async throws {
    let work = StubbornWork()
    let waiting = Task { [clock] in
      try await withTimeout(.seconds(2), clock: clock) { await work.run() }
    }
    try await work.started.value
    await clock.advance(by: .seconds(2))
    await #expect(throws: TimeoutError.self) { try await waiting.value }
    work.open()
  }
}

/// The functions with the name `retry`.
enum RetryForm: CaseIterable {
  case promise, task, function

  func retry(
    _ policy: RetryPolicy, _ clock: TestClock,
    _ operation: @escaping @Sendable (_ attempt: Int) -> Promise<Int>
  ) -> Promise<Int> {
    let count = CallCounter()
    return switch self {
    case .promise: Promise.retry(on: .immediate, policy, clock: clock) { operation(count.call()) }
    case .task:
      Promise.retry(policy, clock: clock) { () async throws in
        try await operation(count.call()).value
      }
    case .function:
      Promise {
        try await Pledge.retry(policy, clock: clock) { try await operation(count.call()).value }
      }
    }
  }
}
