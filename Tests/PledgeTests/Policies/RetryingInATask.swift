/// The `async` form of `retry`, which runs in the calling task.
@Suite struct RetryingInATask {
  let clock = TestClock()

  @Test func cancelledDuringAnAttempt_isNotRepeated_andKeepsTheError() async throws {
    let (started, start) = Promise<Void>.withResolvers()
    let calls = CallCounter()
    let task = Task {
      try await retry(.fixed(attempts: 9, delay: .zero)) {
        calls.call()
        start.fulfill()
        _ = try? await Promise<Void>.never.value
        throw Boom(code: 7)
      }
    }
    try await started.value
    task.cancel()
    await #expect(throws: Boom(code: 7)) { try await task.value }
    try calls.expectOnce()
  }

  @Test func attemptTimeout_cancelsTheAttempt_andWaitsForItsEnd() async throws {
    let policy = RetryPolicy.fixed(attempts: 2, delay: .zero).withAttemptTimeout(.seconds(10))
    let (log, parser) = (Recorder<String>(), Parser())
    async let advancing: Void = {
      await clock.sleepers(atLeast: 1)
      await clock.advance(by: .seconds(10))
    }()
    let value = try await retry(policy, clock: clock) {
      parser.calls += 1
      if parser.calls == 2 { return 2 }
      do { try await Promise<Void>.never.value } catch { log.record("\(error)") }
      log.record("ended")
      throw Boom()
    }
    await advancing
    #expect(value == 2)
    #expect(log.events == ["CancellationError()", "ended"])
  }

  @Test func attemptThatReturnsInSpiteOfItsTimeout_succeeds() async throws {
    let policy = RetryPolicy.fixed(attempts: 1).withAttemptTimeout(.seconds(1))
    async let advancing: Void = {
      await clock.sleepers(atLeast: 1)
      await clock.advance(by: .seconds(1))
    }()
    let value = try await retry(policy, clock: clock) {
      _ = try? await Promise<Void>.never.value
      return 1
    }
    await advancing
    #expect(value == 1)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min / 4)])
  func noTimeAtAll_isATimeout_afterTheAttempt(limit: Duration) async throws {
    var policy = RetryPolicy.fixed(attempts: 1)
    policy.attemptTimeout = limit
    await #expect(throws: TimeoutError.self) {
      try await retry(policy) { try await Promise<Void>.never.value }
    }
  }

  @MainActor @Test func theCallersIsolation_isKept() async throws {
    var policy = RetryPolicy.fixed(attempts: 2, delay: .zero)
    for limit in [nil, Duration.seconds(3600)] {
      policy.attemptTimeout = limit
      var calls = 0
      let result = try await retry(policy) {
        MainActor.assertIsolated()
        calls += 1
        await Task.yield()
        MainActor.assertIsolated()
        if calls == 1 { throw Boom() }
        return Parser()
      }
      #expect(result.calls == 0 && calls == 2)
    }
  }

  @Test(.apart) func manyAttempts_keepNothing() async throws {
    var calls = 0
    await #expect(throws: Boom.self) {
      try await retry(.fixed(attempts: 100_000, delay: .zero)) {
        calls += 1
        throw Boom(code: calls)
      }
    }
    #expect(calls == 100_000)
  }
}
