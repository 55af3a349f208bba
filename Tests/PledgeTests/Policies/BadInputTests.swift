@_spi(DropIns) import Pledge

/// Numbers and times outside their range, for each function and initializer of a policy.
@Suite struct BadInputTests {
  @Test(arguments: BadInput.all)
  func input_outsideItsRange_hasTheDocumentedOutcome(input: BadInput) async throws {
    let clock = TestClock()
    let promise = input.call(clock)
    guard input.outcome != .waits else {
      await clock.settle()
      await clock.advance(by: .seconds(1_000_000_000))
      #expect(promise.isPending)
      promise.cancel()
      try await expectCancellation(of: promise)
      return
    }
    await clock.run(until: promise)
    #expect(Outcome(await promise.result) == input.outcome)
  }
}

/// The result of a call.
enum Outcome: Equatable {
  /// Its operation runs as with the nearest number in the range.
  case runs(Int = 1)
  case waits
  /// Its operation fails, and isn't repeated.
  case fails
  case invalidArgument, timesOut, queueFull, circuitOpen

  init(_ result: Result<Int, any Error>) {
    switch result {
    case .success(let value): self = .runs(value)
    case .failure(PromiseError.invalidArgument): self = .invalidArgument
    case .failure(is TimeoutError): self = .timesOut
    case .failure(is Limiter.QueueFullError): self = .queueFull
    case .failure(is CircuitOpenError): self = .circuitOpen
    case .failure: self = .fails
    }
  }
}

/// A call with a number or a time outside its range, and the result that it must have.
struct BadInput: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let outcome: Outcome
  let call: @Sendable (TestClock) -> Promise<Int>

  /// Returns the calls of `function` with each of `inputs`.
  static func calls<Input: Sendable>(
    _ function: String, _ inputs: [Input], _ outcome: Outcome,
    _ call: @escaping @Sendable (Input, TestClock) -> Promise<Int>
  ) -> [BadInput] {
    inputs.map { input in
      BadInput(testDescription: "\(function) \(input)", outcome: outcome) { call(input, $0) }
    }
  }

  /// Returns the calls of `function` with each of several kinds of inputs.
  static func calls<Input: Sendable>(
    _ function: String, _ kinds: (inputs: [Input], outcome: Outcome)...,
    call: @escaping @Sendable (Input, TestClock) -> Promise<Int>
  ) -> [BadInput] {
    kinds.flatMap { calls(function, $0.inputs, $0.outcome, call) }
  }

  static let all = retries + hedges + limiters + breakers + shared + concurrent + timeLimits

  static let belowOne = [0, -1, Int.min]
  static let belowZero = [-1, Int.min]
  static let notPositive: [Double] = [0, -1, -.infinity, .nan]
  /// Times that are over immediately.
  static let past: [Duration] = [
    .zero, .seconds(-1), .seconds(Int64.min), .zero - forever[1],
  ]
  static let forever: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max),
  ]
  static let pastIntervals: [DispatchTimeInterval] = [.seconds(0), .seconds(-1), .seconds(.min)]
  static let never: [DispatchTimeInterval] = [.never]

  /// Makes two attempts, of which the first fails.
  private static func retry(_ policy: RetryPolicy, _ clock: TestClock) -> Promise<Int> {
    let count = CallCounter()
    return Promise.retry(on: .immediate, policy, clock: clock) {
      count.call() == 1 ? .rejected(Boom()) : .value(1)
    }
  }

  private static func stuck(_ policy: RetryPolicy, _ clock: TestClock) -> Promise<Int> {
    Promise.retry(on: .immediate, policy, clock: clock) { .never }
  }

  private static func with(_ change: (inout RetryPolicy) -> Void) -> RetryPolicy {
    var policy = RetryPolicy.fixed(attempts: 2)
    change(&policy)
    return policy
  }

  private static let retries =
    RetryForm.allCases.flatMap { form in
      calls("retry in the form \(form), attempts", belowOne, .invalidArgument) { attempts, clock in
        form.retry(.fixed(attempts: attempts), clock) { .value($0) }
      }
    }
    + calls("attempts", [Int.max], .runs()) { retry(.fixed(attempts: $0), $1) }
    + calls("fixed, delay", (past, .runs()), (forever, .waits)) {
      retry(.fixed(attempts: 2, delay: $0), $1)
    }
    + calls("fixed, interval", never, .waits) { retry(.fixed(attempts: 2, delay: $0), $1) }
    + calls("RetryPolicy, delay", past, .runs()) { delay, clock in
      retry(RetryPolicy(attempts: 2) { _ in delay }, clock)
    }
    + calls("exponential, factor", notPositive + [.infinity], .runs()) { factor, clock in
      let count = CallCounter()
      let policy = RetryPolicy.exponential(attempts: 3, from: .seconds(1), factor: factor)
      return Promise.retry(on: .immediate, policy, clock: clock) {
        count.call() == 3 ? .value(1) : .rejected(Boom())
      }
    }
    + calls("exponential, maximum", past, .runs()) { maximum, clock in
      retry(.exponential(attempts: 2, from: .seconds(1), maximum: maximum), clock)
    }
    + calls("withJitter", notPositive + [.infinity], .runs()) { random, clock in
      retry(.fixed(attempts: 2).withJitter { random }, clock)
    }
    + calls("requestedDelay", past, .runs()) { delay, clock in
      retry(with { $0.requestedDelay = { _ in delay } }, clock)
    }
    + calls("attemptTimeout", (past, .timesOut), (forever, .waits)) { limit, clock in
      stuck(with { $0.attemptTimeout = limit }, clock)
    }
    + calls("withAttemptTimeout", pastIntervals, .timesOut) {
      stuck(.fixed(attempts: 1).withAttemptTimeout($0), $1)
    }
    + calls("deadline", (past, .timesOut), (forever, .waits)) { limit, clock in
      stuck(with { $0.deadline = limit }, clock)
    }
    + calls("withDeadline", pastIntervals, .timesOut) {
      stuck(.fixed(attempts: 2).withDeadline($0), $1)
    }
    + calls("RetryBudget, capacity", ([0] + belowZero, .fails), ([Int.max], .runs())) {
      retry(.fixed(attempts: 2).withBudget(RetryBudget(capacity: $0)), $1)
    }
    + calls("RetryBudget, tokensPerSuccess", (notPositive, .fails), ([.infinity], .runs())) {
      retryTwice(RetryBudget(capacity: 1, tokensPerSuccess: $0), $1)
    }

  /// Uses a budget of one token up, succeeds, and needs another one.
  private static func retryTwice(_ budget: RetryBudget, _ clock: TestClock) -> Promise<Int> {
    let policy = RetryPolicy.fixed(attempts: 2).withBudget(budget)
    return retry(policy, clock).then(on: .immediate) { _ in retry(policy, clock) }
  }

  private static let hedges =
    HedgeForm.allCases.flatMap { form in
      calls("hedged in the form \(form), attempts", belowOne, .invalidArgument) { attempts, clock in
        form.hedged(attempts: attempts, nil, clock) { _ in .value(1) }
      }
        + calls("hedged in the form \(form), delay", (past, .runs()), (forever, .waits)) {
          delay, clock in
          form.hedged(delay: delay, nil, clock) { $0 == 1 ? .never : .value(1) }
        }
    }
    + calls("hedged, interval", (pastIntervals, .runs()), (never, .waits)) { delay, _ in
      let count = CallCounter()
      return Promise.hedged(delay: delay) { count.call() == 1 ? Promise.never : .value(1) }
    }

  private static func run(_ limiter: Limiter) -> Promise<Int> {
    limiter.run(on: .immediate) { Promise.value(1) }
  }

  /// Runs the second of two operations, the first of which doesn't end.
  private static func runSecond(_ limiter: Limiter) -> Promise<Int> {
    let first = limiter.run(on: .immediate) { Promise<Int>.never }
    return run(limiter).tap(on: .immediate) { _ in first.cancel() }
  }

  private static let limiters =
    calls("Limiter", belowOne, .invalidArgument) { limit, _ in run(Limiter(limit)) }
    + calls("Limiter, perform", belowOne, .invalidArgument) { limit, _ in
      Promise { try await Limiter(limit).perform { 1 } }
    }
    + calls("Limiter", [Int.max], .runs()) { limit, _ in run(Limiter(limit)) }
    + calls("Limiter.limit", belowOne, .invalidArgument) { limit, _ in
      let limiter = Limiter(1)
      limiter.limit = limit
      return run(limiter)
    }
    + calls("Limiter, queueCapacity", [0] + belowZero, .queueFull) { capacity, _ in
      runSecond(Limiter(1, queueCapacity: capacity))
    }
    + calls("Limiter, priority", [Int.min, .max], .runs()) { priority, _ in
      Limiter(1).run(on: .immediate, priority: priority) { Promise.value(1) }
    }
    + calls("Rate, count", belowOne, .invalidArgument) { count, clock in
      run(Limiter(1, rate: .init(count, per: Duration.seconds(1)), clock: clock))
    }
    + calls("Rate, period", past, .runs()) { period, clock in
      let limiter = Limiter(2, rate: .init(1, per: period), clock: clock)
      return runSecond(limiter)
    }
    + calls("Rate, period", forever, .waits) { period, clock in
      runSecond(Limiter(2, rate: .init(1, per: period), clock: clock))
    }
    + calls("Rate, interval", pastIntervals, .runs()) { period, _ in
      runSecond(Limiter(2, rate: .init(1, per: period)))
    }
    + calls("Limiter, adaptive", [0...0, Int.min...Int.max, -2...(-1)], .runs()) { range, clock in
      run(Limiter(adaptive: range, clock: clock))
    }
    + calls("Limiter, initial", [Int.min, 0, .max], .runs()) { initial, clock in
      run(Limiter(adaptive: 1...10, initial: initial, clock: clock))
    }
    + calls("Limiter, adaptive, queueCapacity", belowZero, .queueFull) { capacity, clock in
      runSecond(Limiter(adaptive: 1...1, queueCapacity: capacity, clock: clock))
    }
    + calls("KeyedLimiter", [0] + belowZero + [Int.max], .runs()) { capacity, _ in
      run(KeyedLimiter<Int>(capacity: capacity) { _ in Limiter(1) }.limiter(for: 1))
    }

  /// Makes a call after another one that failed, or that succeeded and took no time.
  private static func call(_ breaker: CircuitBreaker, afterSuccess: Bool = false) -> Promise<Int> {
    let first = breaker.run { afterSuccess ? Promise.value(0) : .rejected(Boom()) }
    return first.recover(on: .immediate) { _ in .value(0) }
      .then(on: .immediate) { _ in breaker.run { Promise.value(1) } }
  }

  private static let breakers =
    calls("consecutiveFailures", belowOne, .circuitOpen) { count, clock in
      call(CircuitBreaker(.consecutiveFailures(count), clock: clock))
    }
    + calls("failureRate, never", [1.1, .infinity, .nan], .runs()) { rate, clock in
      call(CircuitBreaker(.failureRate(rate, ofLast: 1, minimumCalls: 1), clock: clock))
    }
    + calls("failureRate, at once", [0, -1, -.infinity], .circuitOpen) { rate, clock in
      call(CircuitBreaker(.failureRate(rate, ofLast: 9, minimumCalls: 1), clock: clock))
    }
    + calls("failureRate, ofLast", (belowOne, .circuitOpen), ([Int.max], .runs())) { count, clock in
      call(CircuitBreaker(.failureRate(0.5, ofLast: count), clock: clock))
    }
    + calls("failureRate, minimumCalls", belowOne, .circuitOpen) { minimum, clock in
      call(CircuitBreaker(.failureRate(0.5, ofLast: 9, minimumCalls: minimum), clock: clock))
    }
    + calls("failureRate, inLast", past + forever, .circuitOpen) { period, clock in
      call(CircuitBreaker(.failureRate(0.5, inLast: period, minimumCalls: 1), clock: clock))
    }
    + calls("openDuration", (past, .runs()), (forever, .circuitOpen)) { duration, clock in
      call(CircuitBreaker(.consecutiveFailures(1), openDuration: duration, clock: clock))
    }
    + calls("openDuration, interval", never, .circuitOpen) { duration, _ in
      call(CircuitBreaker(.consecutiveFailures(1), openDuration: duration))
    }
    + calls("probes", belowOne, .runs()) { probes, clock in
      call(
        CircuitBreaker(
          .consecutiveFailures(1), openDuration: Duration.zero, probes: probes, clock: clock))
    }
    + calls("slowCallDuration", (past, .circuitOpen), (forever, .runs())) { duration, clock in
      call(
        CircuitBreaker(.consecutiveFailures(1), slowCallDuration: duration, clock: clock),
        afterSuccess: true)
    }
}
