@_spi(DropIns) @testable import Pledge

@Suite struct IntervalTests {
  @Test(arguments: [
    (DispatchTimeInterval.seconds(3), Duration.seconds(3)),
    (.milliseconds(-1500), .milliseconds(-1500)),
    (.microseconds(2_500_000), .microseconds(2_500_000)),
    (.nanoseconds(1), .nanoseconds(1)),
  ])
  func anInterval_isAsLongAsTheDuration(_ interval: DispatchTimeInterval, _ duration: Duration) {
    #expect(TimeSpan(interval).duration == duration)
    #expect(TimeSpan(interval) == TimeSpan(duration))
    #expect(TimeSpan(interval).description == duration.description)
  }

  @Test func nanoseconds_areRoundedUpAndDoNotOverflow() {
    #expect(
      TimeSpan(Duration(secondsComponent: 1, attosecondsComponent: 1)).inNanoseconds
        == 1_000_000_001)
    #expect(TimeSpan(Duration(secondsComponent: 0, attosecondsComponent: -1)).inNanoseconds == 0)
    #expect(TimeSpan(Duration.seconds(Int64.max)).inNanoseconds == .max)
    #expect(TimeSpan(DispatchTimeInterval.never).inNanoseconds == .max)
    #expect(TimeSpan(Duration.seconds(1e19)) == .infinite)
    #expect(TimeSpan(Duration.seconds(-1e19)) < .zero)
    #expect(TimeSpan.rounding(seconds: .infinity) == .infinite)
    #expect(TimeSpan.rounding(seconds: 0.1) * 3 == .nanoseconds(300_000_000))
  }

  @Test func anIntervalThatIsOver_isOverAtOnce() {
    #expect(!Promise<Void>.after(DispatchTimeInterval.seconds(0)).isPending)
    #expect(!Promise<Void>.after(DispatchTimeInterval.nanoseconds(-1)).isPending)
    let late = Promise<Int>.never.timeout(after: DispatchTimeInterval.seconds(0))
    #expect(late.currentResult.map { "\($0)" }?.contains("Timed out") == true)
    late.ignoreErrors()
  }

  // In a process of its own, because another suite counts the timers.
  @Test func timers_runOnTheContinuousClock() async {
    await #expect(processExitsWith: .success) {
      #expect(Promise<Void>.after(.never).isPending)
      let (pending, resolver) = Promise<Int>.withResolvers()
      let timed = pending.timeout(after: .never)
      let late = pending.timeout(after: DispatchTimeInterval.milliseconds(1))
      let error = try await expectRejection(of: late, with: TimeoutError.self)
      #expect(error.duration == .milliseconds(1))
      #expect(error.seconds == 0.001)
      #expect(error == TimeoutError(duration: .milliseconds(1)))
      resolver.fulfill(1)
      #expect(timed.currentResult.map { "\($0)" } == "success(1)")
      try await Promise<Void>.after(DispatchTimeInterval.milliseconds(1)).value
    }
  }

  @Test func aPolicyOfIntervals_isThatOfDurations() {
    let intervals = RetryPolicy.exponential(
      attempts: 4, from: DispatchTimeInterval.milliseconds(100), factor: 3,
      maximum: DispatchTimeInterval.milliseconds(500))
    let durations = RetryPolicy.exponential(
      attempts: 4, from: Duration.milliseconds(100), factor: 3, maximum: .milliseconds(500))
    for made in 1...4 { #expect(intervals.delay(made) == durations.delay(made)) }
    #expect(intervals.delay(2) == .milliseconds(300))
    let full = RetryPolicy.fixed(attempts: 2, delay: DispatchTimeInterval.seconds(1))
      .withAttemptTimeout(.seconds(3)).withDeadline(.seconds(9))
      .withRequestedDelay { _ in .seconds(5) }
    #expect(full.attemptTimeout == .seconds(3))
    #expect(full.deadline == .seconds(9))
    #expect(full.requestedDelay(CancellationError()) == .seconds(5))
    #expect(full.delay(1) == .seconds(1))
  }

  @Test func otherTypes_takeIntervals() {
    #expect(
      Limiter.Rate(2, per: DispatchTimeInterval.seconds(1)) == .init(2, per: Duration.seconds(1)))
    let caching = CoalescerCaching(
      lifetime: DispatchTimeInterval.seconds(1), staleLifetime: .seconds(2))
    #expect(caching == CoalescerCaching(lifetime: Duration.seconds(1), staleLifetime: .seconds(2)))
  }

  @Test func theSystemsClock_goesOn() {
    let start = SystemClock.now
    #expect(start > 0)
    #expect(SystemClock.now >= start)
  }
}
