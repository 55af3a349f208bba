@_spi(DropIns) import Pledge

/// `hedged`.
@Suite struct HedgeTests {
  private let clock = TestClock()
  private let count = CallCounter()

  @Test func guarantees_areHedged() async throws {
    let promise: Promise = Promise.hedged(delay: .seconds(1), clock: clock) {
      count.call() == 1 ? Guarantee<Int>.never : Guarantee.value(2)
    }
    await clock.run(until: promise)
    try await expectFulfillment(of: promise, with: 2)
  }

  @Test func attempts_runOnTheExecutor() async throws {
    let (executor, count) = (ManualExecutor(), CallCounter())
    let promise = Promise<Int>.hedged(on: executor, delay: .seconds(1), clock: clock) {
      count.call() == 1 ? .never : .value(2)
    }
    executor.runAll()
    #expect(count.count == 1)
    await clock.advance(by: .seconds(1))
    #expect(count.count == 1)
    executor.runAll()
    try await expectFulfillment(of: promise, with: 2)

    // The first attempt in place runs inside the call, the others when the delay is over.
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 0)
    let inPlace = CallCounter()
    let hedged = Promise<Int>.hedged(
      on: .immediate, attempts: 3, delay: .seconds(1), budget: budget, clock: clock
    ) {
      inPlace.call() == 1 ? .never : .rejected(Boom())
    }
    try inPlace.expectOnce()
    await clock.advance(by: .seconds(1))
    #expect(inPlace.count == 2)
    hedged.cancel()

    let onMain = Promise.hedged(delay: .seconds(1), clock: clock) { @MainActor in
      MainActor.assertIsolated()
      return Promise.value(3)
    }
    try await expectFulfillment(of: onMain, with: 3)
    let interval = Promise.hedged(delay: DispatchTimeInterval.seconds(1)) { Promise.value(4) }
    try await expectFulfillment(of: interval, with: 4)
    let either = Promise.hedged(delay: .seconds(1)) { @MainActor in Promise.value(onMainActor()) }
    try await expectFulfillment(of: either, with: 5)
  }

  @Test(arguments: 0..<100) func aQuickFirstAttempt_isTheOnlyOne(round: Int) async throws {
    let promise = Promise.hedged(attempts: 3, delay: .seconds(1), clock: clock) {
      Promise.value(count.call())
    }
    try await expectFulfillment(of: promise, with: 1)
    await clock.noSleepers()
    try count.expectOnce()
  }

  @Test(arguments: HedgeForm.allCases)
  func failures_startTheNextAttemptAtOnce_andAreReported(form: HedgeForm) async throws {
    let seen = Recorder<String>()
    let promise = form.hedged(
      attempts: 3, delay: .seconds(3600), nil, clock,
      observer: { seen.record("\($0.number) \($0.delayInSeconds ?? -1)") }
    ) {
      .rejected(Boom(code: $0))
    }
    try await expectRejection(of: promise, with: Boom(code: 1))
    #expect(seen.events == ["1 0.0", "2 0.0", "3 -1.0"])
  }

  @Test(arguments: HedgeForm.allCases)
  func cancelled_cancelsAllAttempts_andTheTimer(form: HedgeForm) async throws {
    let started = Recorder<Promise<Int>>()
    let promise = form.hedged(attempts: 3, nil, clock) { _ in
      let promise = Promise<Int>.never
      started.record(promise)
      return promise
    }
    await clock.advance(by: .seconds(1))
    promise.cancel()
    try await expectCancellation(of: promise)
    for promise in started.events { try await expectCancellation(of: promise) }
    await clock.noSleepers()
    #expect(started.count == 2)
  }

  @Test func anAttemptThatFailsInPlace_leavesTheDelayToTheNext() async throws {
    let promise = Promise<Int>.hedged(
      on: .immediate, attempts: 3, delay: .seconds(1), clock: clock
    ) {
      switch count.call() {
      case 1: .rejected(Boom())
      case 2: .never
      default: .value(3)
      }
    }
    #expect(count.count == 2)
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: promise, with: 3)
  }

  @Test func anAbandonedAttempt_isFollowedByTheNext_afterTheDelay() async throws {
    let (abandoned, resolver) = Promise<Int>.withResolvers()
    let promise = Promise.hedged(on: .immediate, delay: .seconds(1), clock: clock) {
      count.call() == 1 ? abandoned : .value(2)
    }
    resolver.abandon()
    #expect(clock.sleeperCount == 1)
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: promise, with: 2)
  }

  @Test func anyNumberOfAttempts_areMadeOnlyWhenTheirTimeHasCome() async throws {
    let (count, stuck) = (CallCounter(), Recorder<Promise<Int>>())
    let promise = Promise<Int>.hedged(attempts: .max, delay: .seconds(1), clock: clock) {
      switch count.call() {
      case 1, 3:
        let promise = Promise<Int>.never
        stuck.record(promise)
        return promise
      case 2: throw Boom()
      default: return .value(4)
      }
    }
    await stuck.reaches(1).value
    await clock.advance(by: .seconds(1))
    // The second attempt fails, which starts the third immediately.
    await stuck.reaches(2).value
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: promise, with: 4)
    #expect(count.count == 4)
    for promise in stuck.events { try await expectCancellation(of: promise) }
    #expect(clock.sleeperCount == 0)
  }

  @Test func theErrorIsThatOfTheFirstAttempt_howeverLateItComes() async throws {
    let (seen, first, count) = (Recorder<Int>(), Promise<Int>.withResolvers(), CallCounter())
    let promise = Promise<Int>.hedged(
      attempts: 3, delay: .seconds(1), clock: clock, observer: { seen.record($0.number) }
    ) {
      let number = count.call()
      return number == 1 ? first.promise : .rejected(Boom(code: number))
    }
    try await waitUntil { count.count == 1 }
    await clock.advance(by: .seconds(1))
    try await waitUntil { count.count == 3 }
    first.resolver.reject(Boom(code: 1))
    let error = try await expectRejection(of: promise, with: Boom.self)
    #expect(error.code == 1)
    #expect(seen.events == [2, 3, 1])
  }
}

@MainActor private func onMainActor() -> Int { 5 }
