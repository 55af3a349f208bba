/// `LatestOnly`.
@Suite struct LatestOnlyTests {
  let clock = TestClock()

  @Test func isRunning_fromTheCallToTheEnd() async throws {
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    #expect(!latest.isRunning)
    let (work, resolver) = Promise<Int>.withResolvers()
    let promise = latest.run { work }
    #expect(latest.isRunning)
    await clock.advance(by: .seconds(1))
    #expect(latest.isRunning)
    let atTheEnd = Recorder<Bool>()
    promise.finally(on: .immediate) { atTheEnd.record(latest.isRunning) }.ignoreErrors()
    resolver.fulfill(1)
    try await expectFulfillment(of: promise, with: 1)
    #expect(atTheEnd.events == [false])
  }

  @Test func finallyOfASupersededOperation_findsTheNextOneRunning() async throws {
    let (latest, seen) = (LatestOnly<Int>(), Recorder<Bool>())
    let first = latest.run { .never }
    let endOfFirst = first.finally(on: .immediate) { seen.record(latest.isRunning) }
    let (work, resolver) = Promise<Int>.withResolvers()
    let second = latest.run { work }
    let endOfSecond = second.finally(on: .immediate) { seen.record(latest.isRunning) }
    // The first one's closure may be running, and then settles its promise when it returns.
    try await expectCancellation(of: endOfFirst)
    #expect(seen.events == [true])
    resolver.fulfill(2)
    try await expectFulfillment(of: endOfSecond, with: 2)
    #expect(seen.events == [true, false])
  }

  @Test func cancelled_byItselfOrByItsPromise_isNotRunning() async throws {
    let latest = LatestOnly<Int>()
    let first = latest.run { try await Promise<Int>.never.value }
    latest.cancel()
    #expect(!latest.isRunning)
    try await expectCancellation(of: first)
    let second = latest.run { .never }
    second.cancel()
    try await expectCancellation(of: second)
    #expect(!latest.isRunning)
    try await expectRejection(of: latest.run { .rejected(Boom()) }, with: Boom())
    #expect(!latest.isRunning)
  }

  @Test func handlerInTheOperation_thatWaitsForItsExecutor_isSuperseded() async throws {
    let (latest, executor, results) = (LatestOnly<Void>(), ManualExecutor(), Recorder<Int>())
    let (work, resolver) = Promise<Int>.withResolvers()
    let started = CallCounter()
    let first = latest.run {
      defer { started.call() }
      return work.done(on: executor) { results.record($0) }
    }
    try await waitUntil { started.count == 1 }
    resolver.fulfill(1)
    latest.cancel()
    executor.runAll()
    try await expectCancellation(of: first)
    #expect(results.events.isEmpty)
  }

  @Test func latest_waitsForTheDebounce() async throws {
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    let starts = Recorder<Int>()
    var promises: [Promise<Int>] = []
    for n in 0..<3 {
      promises.append(
        latest.run {
          starts.record(n)
          return Promise.value(n)
        })
      await clock.advance(by: .milliseconds(500))
    }
    await clock.run(until: promises[2])
    try await expectFulfillment(of: promises[2], with: 2)
    for n in 0..<2 { try await expectCancellation(of: promises[n]) }
    #expect(starts.events == [2])
  }

  @Test func asyncOperation_afterTheDebounce_hasValuesAndPriorityOfItsCaller() async throws {
    let latest = LatestOnly<(Int, TaskPriority)>(debounce: .seconds(1), clock: clock)
    let promise = await Task.detached(priority: .low) {
      Request.$id.withValue(7) { latest.run { () async in (Request.id, Task.currentPriority) } }
    }.value
    await clock.advance(by: .seconds(1))
    let (id, priority) = try await promise.value
    #expect(id == 7)
    #expect(priority == .low)
  }

  @Test func asyncOperation_supersededDuringTheDebounce_doesntStart() async throws {
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    let starts = CallCounter()
    let first = latest.run { () async in starts.call() }
    let second = latest.run { () async in starts.call() }
    try await expectCancellation(of: first)
    await clock.run(until: second)
    try await expectFulfillment(of: second, with: 1)
  }

  @Test func latest_thatStartsANewerOne_sparesIt() async throws {
    let clock = TimersByHand()
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    let newer = Recorder<Promise<Int>>()
    clock.interrupt { newer.record(latest.run { Promise.value(2) }) }
    try await expectCancellation(of: latest.run { Promise.value(1) })
    for action in clock.takeActions() { action() }
    try await expectFulfillment(of: newer.events[0], with: 2)
  }

  @Test func latest_thatIsCancelledWhileItStarts_isCancelled() async throws {
    let clock = TimersByHand()
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    clock.interrupt { latest.cancel() }
    try await expectCancellation(of: latest.run { Promise.value(1) })
  }

  @Test func latest_thatGoes_cancels() async throws {
    let promise: Promise<Int>
    do {
      let latest = LatestOnly<Int>(debounce: .seconds(3600))
      promise = latest.run { .never }
    }
    try await expectCancellation(of: promise)
  }
}
