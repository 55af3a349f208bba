/// What a budget allows `hedged`.
@Suite struct HedgeBudgetTests {
  private let clock = TestClock()

  @Test(arguments: HedgeForm.allCases)
  func aValueBeforeTheDelay_depositsIntoTheBudget(form: HedgeForm) async throws {
    let budget = try await emptyBudget(tokensPerSuccess: 1)
    try await expectFulfillment(of: form.hedged(budget, clock) { _ in .value(1) }, with: 1)
    #expect(budget.remaining == 1)
  }

  @Test(arguments: HedgeForm.allCases)
  func aValueAfterTheDelay_depositsNothing(form: HedgeForm) async throws {
    let budget = try await emptyBudget(tokensPerSuccess: 1)
    let (slow, attempts) = (Promise<Int>.withResolvers(), CallCounter())
    let value = form.hedged(budget, clock) { _ in
      attempts.call()
      return slow.promise
    }
    await clock.advance(by: .seconds(1))
    await clock.noSleepers()
    slow.resolver.fulfill(1)
    try await expectFulfillment(of: value, with: 1)
    // Without a token, there is only the slow attempt.
    try attempts.expectOnce()
    #expect(budget.remaining == 0)
  }

  @Test(arguments: HedgeForm.allCases)
  func aHedgeThatWins_depositsNothing(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 1)
    let slow = Promise<Int>.never
    let value = form.hedged(budget, clock) { $0 == 1 ? slow : .value($0) }
    await clock.run(until: value)
    try await expectFulfillment(of: value, with: 2)
    #expect(budget.remaining == 0 && clock.now.offset == .seconds(1))
    try await expectCancellation(of: slow)
  }

  @Test(arguments: HedgeForm.allCases)
  func aSecondAttemptAfterAnError_inTime_deposits(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 1)
    let value = form.hedged(budget, clock) { $0 == 1 ? .rejected(Boom()) : .value($0) }
    try await expectFulfillment(of: value, with: 2)
    #expect(budget.remaining == 1)
  }

  @Test(arguments: HedgeForm.allCases)
  func withoutATokenLeft_aFailureIsTheOnlyError(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 0, tokensPerSuccess: 0)
    let value = form.hedged(delay: .seconds(3600), budget, clock) { .rejected(Boom(code: $0)) }
    try await expectRejection(of: value, with: Boom(code: 1))
  }

  @Test(arguments: HedgeForm.allCases)
  func anOpenBreaker_orAFullLimiter_takesNoTokens(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 0)
    let breaker = CircuitBreaker(clock: clock)
    breaker.open()
    let rejected = form.hedged(budget, clock) { _ in breaker.run { Promise.value(1) } }
    try await expectRejection(of: rejected, with: CircuitOpenError.self)

    let limiter = Limiter(1, queueCapacity: 0)
    let running = limiter.run(on: .immediate) { Promise<Int>.never }
    let refused = form.hedged(budget, clock) { _ in limiter.run { Promise.value(1) } }
    try await expectRejection(of: refused, with: Limiter.QueueFullError.self)
    #expect(budget.remaining == 1)
    running.cancel()
  }

  @Test(arguments: HedgeForm.allCases)
  func afterAnOpenBreaker_theNextServerIsAsked_withoutAToken(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 0)
    let breakers = [CircuitBreaker(clock: clock), CircuitBreaker(clock: clock)]
    breakers[0].open()
    let value = form.hedged(budget, clock) { attempt in
      breakers[attempt - 1].run { Promise.value(attempt) }
    }
    try await expectFulfillment(of: value, with: 2)
  }

  private func emptyBudget(tokensPerSuccess: Double) async throws -> RetryBudget {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: tokensPerSuccess)
    let value = HedgeForm.promise.hedged(budget, clock) { $0 == 1 ? .rejected(Boom()) : .never }
    try await waitUntil { budget.remaining == 0 }
    value.cancel()
    try await expectCancellation(of: value)
    return budget
  }
}

/// The functions with the name `hedged`.
enum HedgeForm: CaseIterable {
  case promise, task, function

  func hedged(
    attempts: Int = 2, delay: Duration = .seconds(1), _ budget: RetryBudget?, _ clock: TestClock,
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    _ operation: @escaping @Sendable (_ attempt: Int) -> Promise<Int>
  ) -> Promise<Int> {
    let count = CallCounter()
    return switch self {
    case .promise:
      Promise.hedged(
        on: .immediate, attempts: attempts, delay: delay, budget: budget, clock: clock,
        observer: observer
      ) {
        operation(count.call())
      }
    case .task:
      Promise.hedged(
        attempts: attempts, delay: delay, budget: budget, clock: clock, observer: observer
      ) { () async throws in
        try await operation(count.call()).value
      }
    case .function:
      Promise {
        try await Pledge.hedged(
          attempts: attempts, delay: delay, budget: budget, clock: clock, observer: observer
        ) {
          try await operation(count.call()).value
        }
      }
    }
  }
}
