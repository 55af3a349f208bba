/// The `async` forms of the policies: where operations run, and that they have ended afterward.
@Suite struct StructuredPolicies {
  let clock = TestClock()
  let log = Recorder<String>()

  /// Waits until its task is cancelled, and records that it has ended.
  private func waitForCancellation(_ name: String) async throws {
    defer { log.record("\(name) ended") }
    try await Promise<Void>.never.value
  }

  @Test func perform_runsInTheCallersTask_withWhatIsntSendable() async throws {
    let (limiter, parser) = (Limiter(1), Parser())
    let result = try await limiter.perform {
      parser.calls += 1
      #expect(limiter.runningCount == 1)
      return parser
    }
    #expect(result.calls == 1 && limiter.runningCount == 0)
    await #expect(throws: Boom.self) { try await limiter.perform { throw Boom() } }
    #expect(limiter.runningCount == 0)
  }

  @Test func perform_cleared_orWithoutRoom_throws() async throws {
    let limiter = Limiter(1, queueCapacity: 1)
    limiter.pause()
    let task = Task { try await limiter.perform {} }
    try await waitUntil { limiter.waitingCount == 1 }
    await #expect(throws: Limiter.QueueFullError.self) { try await limiter.perform {} }
    limiter.clear()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func startAgainstCancel_ofAWaitingTask_bothEnd() async throws {
    for _ in 0..<200 {
      let limiter = Limiter(1)
      limiter.pause()
      let task = Task { try await limiter.perform { 1 } }
      try await waitUntil { limiter.waitingCount == 1 }
      async let cancelling: Void = task.cancel()
      limiter.resume()
      await cancelling
      _ = await task.result
      #expect(limiter.runningCount == 0 && limiter.waitingCount == 0)
    }
  }

  @Test func droppedLimiter_namesTheCallersPlace() async throws {
    var limiter: Limiter? = Limiter(1)
    limiter?.pause()
    let line = #line + 1
    let plain = limiter?.run(on: .immediate) { Promise.value(1) }
    let task = limiter?.run { () async throws -> Int in 1 }
    limiter = nil
    for (offset, promise) in [plain, task].enumerated() {
      let error = try await expectRejection(
        of: try #require(promise), with: BrokenPromiseError.self)
      #expect(error.reason == .limiterDropped)
      #expect(error.origin?.fileID == "PledgeTests/StructuredPolicies.swift")
      #expect(error.origin?.line == UInt(line + offset))
    }
  }

  @Test func firstToFinish_returnsWhenTheOthersHaveEnded() async throws {
    let value = try await firstToFinish(
      { 1 },
      {
        try await waitForCancellation("second")
        return 2
      })
    #expect(value == 1)
    #expect(log.events == ["second ended"])
    // Nothing to try, because nothing can fail; and the error keeps its type.
    #expect(await firstToFinish({ 3 }, { 3 }) == 3)
    #expect(try await firstToFinish({ 4 }, { 4 }, { 4 }, { 4 }) == 4)
    do throws(Boom) {
      _ = try await firstToFinish(
        { () throws(Boom) -> Int in throw Boom(code: 1) },
        { () throws(Boom) -> Int in throw Boom(code: 1) })
      Issue.record("It succeeds.")
    } catch { #expect(error.code == 1) }
  }

  @Test func firstToSucceed_throwsAllErrors() async throws {
    #expect(try await firstToSucceed({ throw Boom() }, { 2 }) == 2)
    let error = await #expect(throws: AggregateError.self) {
      try await firstToSucceed(
        { () -> Int in throw Boom(code: 1) }, { throw Boom(code: 2) }, { throw Boom(code: 3) })
    }
    #expect(error?.errors.map { ($0 as? Boom)?.code } == [1, 2, 3])
  }

  @Test func concurrentMap_staysBelowTheLimit_inOrder() async throws {
    let running = Mutex((now: 0, most: 0))
    let results = try await concurrentMap(0..<100, limit: 3) { number in
      running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      await Task.yield()
      running.withLock { $0.now -= 1 }
      return number
    }
    #expect(results == Array(0..<100))
    #expect(running.withLock { $0.most } <= 3)
  }

  @Test func concurrentMap_failed_takesNoMore_andWaitsForTheRest() async throws {
    let taken = Recorder<Int>()
    await #expect(throws: Boom.self) {
      try await concurrentMap(0..<100, limit: 2) { number in
        taken.record(number)
        if number == 0 { throw Boom() }
        try await waitForCancellation("\(number)")
      }
    }
    #expect(taken.count == 2 && log.events == ["1 ended"])
    #expect(try await concurrentMap([Int](), limit: .max) { $0 } == [])
  }

  @Test func concurrentMap_cancelled_takesNoMore() async throws {
    let taken = Recorder<Int>()
    let task = Task {
      try await concurrentMap(0..<100, limit: 2) { number in
        taken.record(number)
        // It ignores its cancellation.
        _ = try? await Promise<Void>.never.value
      }
    }
    await taken.reaches(2).value
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(taken.count == 2)
  }

  @Test func hedged_secondAttemptWins_andTheFirstHasEnded() async throws {
    let calls = CallCounter()
    async let advancing: Void = {
      await clock.sleepers(atLeast: 1)
      await clock.advance(by: .seconds(1))
    }()
    let value = try await hedged(delay: .seconds(1), clock: clock) {
      if calls.call() == 1 { try await waitForCancellation("first") }
      return 2
    }
    await advancing
    #expect(value == 2 && log.events == ["first ended"])
    await clock.noSleepers()
  }

  @Test func hedged_cancelled_startsNoFurtherAttempt() async throws {
    let calls = Recorder<Int>()
    let task = Task { [clock] in
      try await hedged(attempts: 5, delay: .seconds(1), clock: clock) {
        calls.record(1)
        _ = try? await Promise<Void>.never.value
        throw Boom()
      }
    }
    await calls.reaches(1).value
    task.cancel()
    await #expect(throws: Boom.self) { try await task.value }
    #expect(calls.count == 1)
  }

  @Test func promiseOfHedgedTasks_doesntWaitForTheLoser() async throws {
    let (work, calls) = (StubbornWork(), CallCounter())
    let promise = Promise<Int>.hedged(delay: .seconds(1), clock: clock) { () async throws -> Int in
      if calls.call() == 1 { await work.run() }
      return 2
    }
    await clock.run(until: promise)
    try await expectFulfillment(of: promise, with: 2)
    work.open()
  }

  @Test func withResource_keepsTheErrorOfTheBody_andReleasesInACancelledTask() async throws {
    let task = Task {
      try await withResource(
        acquire: { "file" },
        release: { name in
          #expect(!Task.isCancelled)
          log.record("release \(name)")
          throw Boom(code: 2)
        }
      ) { _ in
        try? await waitForCancellation("use")
        throw Boom(code: 1)
      }
    }
    task.cancel()
    await #expect(throws: Boom(code: 1)) { try await task.value }
    #expect(log.events == ["use ended", "release file"])
  }
}
