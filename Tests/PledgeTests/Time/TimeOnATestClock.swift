/// A clock that can't sleep.
private struct BrokenClock: Clock {
  var now: ContinuousClock.Instant { .now }
  var minimumResolution: Duration { .zero }
  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    throw Boom()
  }
}

/// `after`, `delay`, `timeout`, and `deadline`, on a clock that the test controls.
@Suite struct TimeOnATestClock {
  let clock = TestClock()

  @Test func after_isFulfilledOnTime_andNotBefore() async throws {
    let promise = Promise<Void>.after(.seconds(3600), clock: clock)
    let later = Promise<Void>.after(.seconds(7200), clock: clock)
    await clock.advance(by: .seconds(3599))
    try expectPending(promise)
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: promise)
    try expectPending(later)
    await clock.advance(by: .seconds(3600))
    try await expectFulfillment(of: later)
    #expect(clock.sleeperCount == 0)
  }

  @Test func clockWhoseSleepFails_isReplacedForTheRestOfTheTime() async throws {
    let clock = BrokenClock()
    let start = ContinuousClock.now
    try await Promise.after(.milliseconds(20), clock: clock).value
    #expect(ContinuousClock.now - start >= .milliseconds(20))
    try await expectRejection(
      of: Promise<Int>.never.timeout(after: .milliseconds(1), clock: clock), with: TimeoutError.self
    )
    try await expectFulfillment(of: Promise.value(1).delay(.milliseconds(1), clock: clock), with: 1)
    let policy = RetryPolicy.fixed(attempts: 2, delay: .milliseconds(1))
    let retried = Promise<Int>.retry(policy, clock: clock) { .rejected(Boom()) }
    try await expectRejection(of: retried, with: Boom.self)
    let cancelled = Promise.after(.seconds(3600), clock: clock)
    cancelled.cancel()
    try await expectCancellation(of: cancelled)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min / 4)])
  func after_durationsThatAreOver_needNoTimer(duration: Duration) {
    #expect(!Promise<Void>.after(duration, clock: clock).isPending)
    #expect(!Promise<Void>.after(duration).isPending)
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: When.allCases)
  func delay_passesTheValueLater_andAnErrorAtOnce(when: When) async throws {
    let delayed = when.fulfill(1) { [clock] in $0.delay(.seconds(5), clock: clock) }
    await clock.sleepers(atLeast: 1)
    try expectPending(delayed)
    await clock.advance(by: .seconds(5))
    try await expectFulfillment(of: delayed, with: 1)
    let failed = when.reject { [clock] in $0.delay(.seconds(5), clock: clock) }
    try await expectRejection(of: failed, with: Boom())
    #expect(clock.sleeperCount == 0)
  }

  @Test func timeout_inTime_releasesTheTimer() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let limited = promise.timeout(after: .seconds(5), clock: clock)
    #expect(clock.sleeperCount == 1)
    resolver.fulfill(1)
    await clock.noSleepers()
    try await expectFulfillment(of: limited, with: 1)
    let (failing, failingResolver) = Promise<Int>.withResolvers()
    let failed = failing.timeout(after: .seconds(5), clock: clock)
    failingResolver.reject(Boom())
    await clock.noSleepers()
    try await expectRejection(of: failed, with: Boom())
  }

  @Test func timeout_tooLate_cancelsBeforeItRejects() async throws {
    let order = Recorder<String>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel { order.record("cancelled") }
    let limited = promise.timeout(after: .seconds(5), clock: clock)
    limited.catch(on: .immediate) { _ in order.record("rejected") }
    await clock.advance(by: .seconds(5))
    try await expectRejection(of: limited, with: TimeoutError.self)
    try await expectCancellation(of: promise)
    #expect(order.events == ["cancelled", "rejected"])
  }

  @Test func unhandledTimeout_isReported() async throws {
    DiagnosticsLog.install()
    // A duration that no other test uses distinguishes this report from theirs.
    let error = TimeoutError(duration: .seconds(4321))
    let promise = Promise<Int>.never
    _ = promise.timeout(after: error.duration, clock: clock)
    await clock.advance(by: error.duration)
    try await expectCancellation(of: promise)
    #expect(DiagnosticsLog.reports(of: error).count == 1)
  }

  @Test func guarantees_canBeDelayedAndTimeOut() async throws {
    let guarantee = Guarantee<Int>.never
    let limited = guarantee.timeout(after: .seconds(5), clock: clock)
    let delayed = Guarantee.value(2).delay(.seconds(7), clock: clock)
    await clock.advance(by: .seconds(5))
    try await expectRejection(of: limited, with: TimeoutError.self)
    #expect(delayed.isPending)
    await clock.advance(by: .seconds(2))
    #expect(try await delayed.value == 2)
  }

  @Test func deadline_isAMomentOnTheClock() async throws {
    await clock.advance(by: .seconds(10))
    let promise = Promise<Int>.never
    let limited = promise.deadline(.init(offset: .seconds(15)), clock: clock)
    let past = promise.deadline(.init(offset: .seconds(9)), clock: clock)
    try await expectRejection(of: past, with: TimeoutError.self)
    await clock.advance(by: .seconds(4))
    try expectPending(limited)
    await clock.advance(by: .seconds(1))
    try await expectRejection(of: limited, with: TimeoutError(duration: .seconds(5)))
  }

  @Test func timeoutError_tellsTheTime_orThatItWasOver() async throws {
    #expect("\(TimeoutError(duration: .seconds(5)))" == "Timed out after 5.0 seconds.")
    #expect(
      "\(TimeoutError(duration: .nanoseconds(990_356)))" == "Timed out after 0.000990356 seconds.")
    let over = "Timed out: the deadline had passed already."
    #expect("\(TimeoutError(duration: .zero))" == over)
    await clock.advance(by: .seconds(10))
    let late = Promise<Int>.never.deadline(clock.now.advanced(by: .seconds(-3)), clock: clock)
    let error = try await expectRejection(of: late, with: TimeoutError.self)
    #expect("\(error)" == over)
  }
}
