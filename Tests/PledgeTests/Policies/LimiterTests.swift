/// `Limiter`.
@Suite struct LimiterTests {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  let work = BoundedAll.Work()
  let limiter = Limiter(1)
  let clock = TestClock()

  private func run(_ limiter: Limiter, _ range: Range<Int>) -> [Promise<String>] {
    range.map { n in limiter.run(on: .immediate) { [work] in work.start(n) } }
  }

  @Test func runsSoManyAtATime_firstComeFirstServed() async throws {
    let limiter = Limiter(2)
    let promises = run(limiter, 0..<5)
    #expect(work.started.events == [0, 1])
    #expect(limiter.runningCount == 2 && limiter.waitingCount == 3)
    work.finish(1)
    #expect(work.started.events == [0, 1, 2])
    work.finish(0, Boom())
    #expect(work.started.events == [0, 1, 2, 3])
    for n in 2..<5 { work.finish(n) }
    try await expectRejection(of: promises[0], with: Boom())
    for n in 1..<5 { try await expectFulfillment(of: promises[n], with: "\(n)") }
    #expect(limiter.runningCount == 0 && limiter.waitingCount == 0)
  }

  @Test func pauseAndResume() async throws {
    limiter.pause()
    let promises = run(limiter, 0..<2)
    #expect(work.started.count == 0)
    limiter.resume()
    #expect(work.started.events == [0])
    limiter.pause()
    work.finish(0)
    #expect(work.started.events == [0])
    limiter.resume()
    work.finish(1)
    try await waitForPromises(promises)
    #expect(work.started.events == [0, 1])
  }

  @Test func cancelledOperations_leaveNothingInTheQueue() async throws {
    let first = run(limiter, 0..<2)
    for n in 0..<1_000 {
      limiter.run(on: .immediate, priority: n % 2) { Promise<Void>.never }.cancel()
    }
    #expect(limiter.waitingCount == 1)
    let last = run(limiter, 2..<4)
    for n in 0..<4 { work.finish(n) }
    try await waitForPromises(first + last)
    #expect(work.started.events == [0, 1, 2, 3])
  }

  @Test func clear_rejectsWhatWaits() async throws {
    let promises = run(limiter, 0..<3)
    limiter.clear()
    try await expectCancellation(of: promises[1])
    try await expectCancellation(of: promises[2])
    work.finish(0)
    try await expectFulfillment(of: promises[0], with: "0")
    #expect(work.started.events == [0])
  }

  @Test func idle() async throws {
    try await expectFulfillment(of: limiter.idle())
    let promises = run(limiter, 0..<2)
    let idle = limiter.idle()
    work.finish(0)
    try expectPending(idle)
    work.finish(1)
    try await expectFulfillment(of: idle)
    try await waitForPromises(promises)
    let paused = Limiter(1)
    paused.pause()
    let waiting = run(paused, 5..<6)
    let cleared = paused.idle()
    try expectPending(cleared)
    paused.clear()
    try await expectFulfillment(of: cleared)
    try await expectCancellation(of: waiting[0])
  }

  @Test func idle_followsTheLastResult() throws {
    let (limiter, order) = (Limiter(1), Recorder<String>())
    let promise = run(limiter, 0..<1)[0]
    promise.done(on: .immediate) { _ in order.record("result") }.ignoreErrors()
    limiter.idle().done(on: .immediate) { order.record("idle") }.ignoreErrors()
    work.finish(0)
    #expect(order.events == ["result", "idle"])
  }

  @Test func idle_cancelled_leavesNothing() async throws {
    let promises = run(limiter, 0..<1)
    let first = limiter.idle()
    for _ in 0..<100 { limiter.idle().cancel() }
    #expect(limiter.idleWaiterCount == 1)
    work.finish(0)
    try await expectFulfillment(of: first)
    try await waitForPromises(promises)
  }

  @Test func manyPriorities_startFromHighestToLowest() throws {
    let (gate, resolver) = Promise<Void>.withResolvers()
    limiter.run(on: .immediate) { gate }.ignoreErrors()
    let order = Recorder<Int>()
    let count = 10_000
    for number in 0..<count {
      // Each priority once, in an order that is neither ascending nor descending.
      let priority = number * 7 % count
      let promise = limiter.run(on: .immediate, priority: priority) {
        order.record(priority)
        return Promise<Void>.value(())
      }
      if priority % 10 == 3 { promise.cancel() } else { promise.ignoreErrors() }
    }
    resolver.fulfill()
    #expect(order.events == (0..<count).reversed().filter { $0 % 10 != 3 })
    #expect(limiter.waitingCount == 0)
  }

  @Test func cancellingAWaitingOne_takesItOut_aRunningOne_cancelsIt() async throws {
    let promises = run(limiter, 0..<3)
    promises[1].cancel()
    #expect(limiter.waitingCount == 1)
    promises[0].cancel()
    try await expectCancellation(of: promises[0])
    #expect(work.cancelled.events == [0])
    #expect(work.started.events == [0, 2])
    work.finish(2)
    try await expectFulfillment(of: promises[2], with: "2")
    try await expectCancellation(of: promises[1])
  }

  @Test func throwingOperation_rejects_andMakesRoom() async throws {
    let failed: Promise<Int> = limiter.run { throw Boom() }
    try await expectRejection(of: failed, with: Boom())
    try await expectFulfillment(of: limiter.run { Promise.value(1) }, with: 1)
  }

  @Test(.apart) func manyOperations_settledAtOnce_needNoStack() async throws {
    limiter.pause()
    let promises = (0..<20_000).map { n in limiter.run { Promise.value(n) } }
    limiter.resume()
    try await waitForPromises(promises, within: .seconds(30))
    #expect(limiter.runningCount == 0)
  }

  @Test func limitSetToLessThanOne_rejectsWaitingAndNewOperations_untilItIsRaised() async throws {
    let promises = run(limiter, 0..<2)
    limiter.limit = 0
    let error = PromiseError.invalidArgument("A limiter needs a limit of at least 1, not 0.")
    try await expectRejection(of: promises[1], with: error)
    try await expectRejection(of: limiter.run { Promise.value(1) }, with: error)
    #expect(limiter.limit == 0 && limiter.runningCount == 1 && limiter.waitingCount == 0)
    work.finish(0)
    try await expectFulfillment(of: promises[0])
    limiter.limit = 1
    try await expectFulfillment(of: limiter.run { Promise.value(2) }, with: 2)
    let adaptive = Limiter(adaptive: 2...9)
    adaptive.limit = 0
    #expect(adaptive.limit == 2)
  }

  @Test func aLimitCanBeChanged() async throws {
    let promises = run(limiter, 0..<4)
    limiter.limit = 3
    #expect(work.started.events == [0, 1, 2])
    limiter.limit = 1
    work.finish(0)
    work.finish(1)
    #expect(limiter.runningCount == 1 && limiter.waitingCount == 1)
    work.finish(2)
    #expect(work.started.events == [0, 1, 2, 3])
    work.finish(3)
    try await waitForPromises(promises)
  }

  @Test(.timeLimit(.minutes(1)))
  func rate_whenClockEndsItsSleepsEarly_startsTheNextOperation() async throws {
    let limiter = Limiter(5, rate: .init(1, per: .seconds(3600)), clock: EarlyClock())
    let values = try await Promise.all((0..<4).map { index in limiter.run { .value(index) } }).value
    #expect(values == [0, 1, 2, 3])
    try await limiter.perform {}
  }

  @Test func aRate_countsEachStartForOnePeriod() async throws {
    let limiter = Limiter(10, rate: .init(2, per: .seconds(2)), clock: clock)
    let starts = Recorder<Duration>()
    func run() -> Promise<Void> {
      limiter.run(on: .immediate) { Promise.value(starts.record(clock.now.offset)) }
    }
    var promises = [run()]
    await clock.advance(by: .seconds(1))
    promises += [run(), run(), run(), run()]
    await clock.run(until: Promise<[Void]>.all(promises))
    #expect(starts.events == [0, 1, 2, 3, 4].map { .seconds($0) })
  }

  @Test func aRate_hasOneTimer_whileOperationsWaitForIt() async throws {
    let limiter = Limiter(10, rate: .init(1_000, per: .seconds(3600)), clock: clock)
    for _ in 0..<1_000 { _ = try await limiter.perform { 1 } }
    #expect(clock.sleeperCount == 0)
    let late = (0..<10).map { _ in limiter.run { Promise.value(clock.now.offset) } }
    #expect(clock.sleeperCount == 1)
    await clock.run(until: Promise<[Duration]>.all(late))
    try await expectFulfillment(of: late[9], with: .seconds(3600))
    #expect(clock.sleeperCount == 0)
  }

  @Test func aLimiterWithARate_isReleased_whileItsRateStillCounts() async throws {
    var limiter: Limiter? = Limiter(10, rate: .init(2, per: .seconds(3600)))
    weak let dropped = limiter
    try await limiter?.perform {}
    limiter = nil
    try await waitUntil { dropped == nil }
  }

  /// Ways to cancel operations of which one runs and the others wait.
  enum Cancellation: CaseIterable {
    case all, timeout, race, raceThatHasEnded, scope, closedScope

    func cancel(_ operations: [Promise<Void>], _ clock: TestClock) async {
      switch self {
      case .all: Promise<[Void]>.all(operations).cancel()
      case .timeout:
        Promise<[Void]>.all(operations).timeout(after: .seconds(1), clock: clock).ignoreErrors()
        await clock.advance(by: .seconds(1))
      case .race: Promise.race(operations).cancel()
      case .raceThatHasEnded: Promise.race([.value(())] + operations).ignoreErrors()
      case .scope, .closedScope:
        let scope = PromiseScope()
        for operation in operations { operation.bound(to: scope).ignoreErrors() }
        if self == .scope { scope.cancelAll() } else { scope.close() }
      }
    }
  }

  @Test(arguments: Cancellation.allCases)
  func operationsCancelledTogether_dontStartOneAnother(_ cancellation: Cancellation) async throws {
    let limiter = Limiter(1, rate: .init(2, per: .seconds(60)), clock: clock)
    let calls = CallCounter()
    let operations = (0..<50).map { _ in
      limiter.run(on: .immediate) {
        calls.call()
        return Promise<Void>.never
      }
    }
    await cancellation.cancel(operations, clock)
    try calls.expectOnce()
    // The others took no place in the rate.
    try await expectFulfillment(of: limiter.run { Promise.value(1) }, with: 1)
  }

  @MainActor @Test func perform_cancelledJustAfterItsStart_doesntCallTheOperation() async throws {
    let (running, end) = Promise<Void>.withResolvers()
    limiter.run(on: .immediate) { running }.ignoreErrors()
    let calls = CallCounter()
    let task = Task { try await limiter.perform { calls.call() } }
    try await waitUntil { limiter.waitingCount == 1 }
    // The task can't continue in between, because this function occupies its actor.
    end.fulfill()
    #expect(limiter.runningCount == 1 && limiter.waitingCount == 0)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try calls.expectNever()
    #expect(limiter.runningCount == 0)
  }

  @Test func asyncOperation_cancelled_runsUntilItsTaskEnds() async throws {
    let (limiter, work) = (Limiter(1), StubbornWork())
    let first = limiter.run { await work.run() }
    let second = limiter.run { 2 }
    let idle = limiter.idle()
    try await expectFulfillment(of: work.started)
    first.cancel()
    try await expectCancellation(of: first)
    #expect(limiter.runningCount == 1 && limiter.waitingCount == 1)
    try expectPending(idle)
    work.open()
    try await expectFulfillment(of: second, with: 2)
    try await expectFulfillment(of: idle)
  }
}

/// A clock that reads a little less than the deadline when a sleep has ended, as one that counts
/// milliseconds can.
private struct EarlyClock: Clock {
  let now = ContinuousClock.now
  let minimumResolution = Duration.zero
  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
}
