@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

/// What a budget allows `hedged`, for a service that stalls or is saturated.
@Suite struct HedgeBudgetTests {
  private let clock = TestClock()

  // MARK: The rule

  @Test(arguments: HedgeForm.allCases)
  func aValueBeforeTheDelay_depositsIntoTheBudget(form: HedgeForm) async throws {
    let budget = try await emptyBudget(tokensPerSuccess: 1)
    let value = form.hedged(budget, clock) { _ in .value(1) }
    try await expectFulfillment(of: value, with: 1)
    #expect(budget.remaining == 1)
  }

  @Test(arguments: HedgeForm.allCases)
  func aValueAfterTheDelay_depositsNothing(form: HedgeForm) async throws {
    let budget = try await emptyBudget(tokensPerSuccess: 1)
    let slow = Promise<Int>.withResolvers()
    let value = form.hedged(budget, clock) { _ in slow.promise }
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(1))
    await clock.noSleepers()
    slow.resolver.fulfill(1)
    try await expectFulfillment(of: value, with: 1)
    #expect(budget.remaining == 0)
  }

  @Test(arguments: HedgeForm.allCases)
  func aHedgeThatWins_depositsNothing(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 1)
    let value = form.hedged(budget, clock) { $0 == 1 ? .never : .value($0) }
    await clock.run(until: value)
    try await expectFulfillment(of: value, with: 2)
    #expect(budget.remaining == 0)
  }

  @Test(arguments: HedgeForm.allCases)
  func aSecondAttemptAfterAnError_inTime_deposits(form: HedgeForm) async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 1)
    let value = form.hedged(budget, clock) { $0 == 1 ? .rejected(Boom()) : .value($0) }
    try await expectFulfillment(of: value, with: 2)
    #expect(budget.remaining == 1)
  }

  // MARK: Attempts that send nothing

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

  // MARK: Load

  @Test func aSaturatedService_receivesNoMoreHedgesThanTheBudgetHolds() async {
    let service = Service(clock)
    let budget = RetryBudget(capacity: 10, tokensPerSuccess: 0.05)
    let clients = Clients(64, of: service, budget)
    // Eight workers and 64 clients: each call takes eight times as long as the work.
    await clients.work(for: .seconds(10))
    #expect(service.received - clients.calls == 10)
    #expect(clients.calls > 7_500)
    #expect(budget.remaining == 0)
  }

  @Test func callsThatStall_areHedged() async {
    let service = Service(clock, stalling: 50)
    let clients = Clients(4, of: service, RetryBudget(capacity: 10, tokensPerSuccess: 0.05))
    await clients.work(for: .seconds(10))
    let hedges = service.received - clients.calls
    // One request in 50 stalls, and its hedge, which stalls as rarely, wins.
    #expect(hedges >= service.received / 50 - 4)
    // Without hedges, calls would stall for a second each.
    #expect(clients.calls > 3_500)
  }

  @Test func afterASaturation_theBudgetIsEarnedBack() async {
    let service = Service(clock, stalling: 50)
    let budget = RetryBudget(capacity: 10, tokensPerSuccess: 0.05)
    await Clients(64, of: service, budget).work(for: .seconds(3))
    #expect(budget.remaining == 0)
    let clients = Clients(4, of: service, budget)
    await clients.work(for: .seconds(10))
    #expect(clients.calls > 3_500)
  }
}

/// The functions with the name `hedged`.
enum HedgeForm: CaseIterable {
  case promise, task, function

  func hedged(
    attempts: Int = 2, delay: Duration = .seconds(1), _ budget: RetryBudget?, _ clock: TestClock,
    _ operation: @escaping @Sendable (_ attempt: Int) -> Promise<Int>
  ) -> Promise<Int> {
    let count = CallCounter()
    return switch self {
    case .promise:
      Promise.hedged(
        on: .immediate, attempts: attempts, delay: delay, budget: budget, clock: clock
      ) {
        operation(count.call())
      }
    case .task:
      Promise.hedged(attempts: attempts, delay: delay, budget: budget, clock: clock) {
        () async throws in
        try await operation(count.call()).value
      }
    case .function:
      Promise {
        try await Pledge.hedged(
          attempts: attempts, delay: delay, budget: budget, clock: clock
        ) {
          try await operation(count.call()).value
        }
      }
    }
  }
}

/// A service with eight workers that need 10 milliseconds for a request, and a queue.
///
/// It doesn't notice that a caller has cancelled a request.
private final class Service: Sendable {
  private struct State {
    var received = 0
    var idleWorkers = 8
    var queue: [Resolver<Void>] = []
  }

  private let state = Mutex(State())
  private let clock: TestClock
  private let period: Int?

  /// - Parameter stalling: One of this many requests takes a second, without a worker; nil for none.
  init(_ clock: TestClock, stalling period: Int? = nil) {
    self.clock = clock
    self.period = period
  }

  var received: Int { state.withLock { $0.received } }

  func request() -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let (stalls, starts) = state.withLock { state in
      state.received += 1
      if let period, state.received.isMultiple(of: period) { return (true, false) }
      if state.idleWorkers == 0 {
        state.queue.append(resolver)
        return (false, false)
      }
      state.idleWorkers -= 1
      return (false, true)
    }
    if stalls {
      Promise<Void>.after(.seconds(1), clock: clock).done(on: .immediate) { resolver.fulfill() }
        .ignoreErrors()
    }
    if starts { work(resolver) }
    return promise
  }

  private func work(_ resolver: Resolver<Void>) {
    Promise<Void>.after(.milliseconds(10), clock: clock).done(on: .immediate) { [self] in
      let next = state.withLock { state in
        if state.queue.isEmpty { state.idleWorkers += 1 }
        return state.queue.isEmpty ? nil : state.queue.removeFirst()
      }
      if let next { work(next) }
      resolver.fulfill()
    }.ignoreErrors()
  }

  /// Passes time until the clients have stopped.
  func advance(by duration: Duration) async { await clock.advance(by: duration) }

  func hedged(_ budget: RetryBudget) -> Promise<Void> {
    Promise.hedged(on: .immediate, delay: .milliseconds(20), budget: budget, clock: clock) {
      [self] in request()
    }
  }
}

/// Clients, each of which makes a hedged call as soon as its last one has ended.
private final class Clients: Sendable {
  private let count: Int
  private let service: Service
  private let budget: RetryBudget
  private let state = Mutex((calls: 0, areWorking: true))

  init(_ count: Int, of service: Service, _ budget: RetryBudget) {
    self.count = count
    self.service = service
    self.budget = budget
  }

  var calls: Int { state.withLock { $0.calls } }

  func work(for duration: Duration) async {
    for _ in 0..<count { call() }
    await service.advance(by: duration)
    state.withLock { $0.areWorking = false }
    await service.advance(by: .seconds(2))
  }

  private func call() {
    let goesOn = state.withLock { state in
      if state.areWorking { state.calls += 1 }
      return state.areWorking
    }
    guard goesOn else { return }
    service.hedged(budget).done(on: .immediate) { [self] in call() }.ignoreErrors()
  }
}
