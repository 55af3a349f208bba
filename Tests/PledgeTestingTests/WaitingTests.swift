/// Every wait ends when its task is cancelled.
@Suite struct CancelledWaits {
  let clock = TestClock()
  let never = Promise<Int>.withResolvers()

  init() { never.promise.ignoreErrors() }

  /// Starts `wait`, cancels it, and returns how it ended; also tests cancellation before the start.
  private func cancelled(
    _ wait: @escaping @Sendable () async throws -> Void
  ) async -> [Result<Void, any Error>] {
    let late = Task { try await wait() }
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await wait()
    }
    late.cancel()
    return [await late.result, await early.result]
  }

  private func isCancellation(_ result: Result<Void, any Error>) -> Bool {
    if case .failure(let error) = result { error is CancellationError } else { false }
  }

  @Test(.timeLimit(.minutes(10))) func clocks_returnEarly() async {
    for result in await cancelled({ [clock] in await clock.sleepers(atLeast: 1) }) {
      #expect(throws: Never.self) { try result.get() }
    }
    _ = await cancelled { [clock] in await clock.sleepers(atLeast: 3) }
    _ = await cancelled { [clock, never] in await clock.run(until: never.promise) }
    let followed = clock.follow(never.promise)
    for wait in [
      { [clock] in await clock.settle() }, { [clock] in await clock.run() },
      { [clock] in await clock.advance(by: .seconds(1)) },
    ] as [@Sendable () async -> Void] { _ = await cancelled(wait) }
    #expect(followed.isPending && clock.now.offset == .zero)
    #expect(never.promise.isPending)
    never.resolver.fulfill(1)
  }

  @Test(arguments: [.zero, .seconds(-1), .seconds(Int64.min)] as [Duration])
  func noTimeToWait_isTooLittle(limit: Duration) async {
    await #expect(throws: ExpectationError.self) {
      try await waitForPromises(never.promise, within: limit)
    }
  }

  @Test(.timeLimit(.minutes(10))) func expectations_throwCancellationError() async {
    let lifetimes = LifetimeTracker()
    let token = lifetimes.track()
    for result in await cancelled({ [never] in try await expectFulfillment(of: never.promise) })
      + (await cancelled { [never] in try await expectRejection(of: never.promise) })
      + (await cancelled { [never] in try await waitForPromises(never.promise) })
      + (await cancelled { try await lifetimes.expectNoneAlive() })
    {
      #expect(isCancellation(result))
    }
    withExtendedLifetime(token) {}
  }

  @Test(.timeLimit(.minutes(10))) func runOfAPeriodicTask_endsWhenItIsCancelled() async {
    let ticks = Recorder<Void>()
    let periodic = Task { [clock] in
      while true {
        try await clock.sleep(for: .seconds(1))
        ticks.record(())
      }
    }
    await clock.sleepers(atLeast: 1)
    let run = Task { [clock] in await clock.run() }
    await ticks.reaches(10).value
    run.cancel()
    await run.value
    periodic.cancel()
    _ = await periodic.result
  }

  @Test func cancelledAdvance_wakesNoSleeper() async {
    let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
    await clock.sleepers(atLeast: 1)
    await Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      await clock.advance(by: .seconds(5))
    }.value
    #expect(clock.sleeperCount == 1 && clock.now.offset == .zero)
    sleeper.cancel()
    _ = await sleeper.result
  }
}

@Suite struct WaitingForConditions {
  @Test func manyPromises_areWaitedForInLinearTime() async throws {
    let pairs = (0..<20_000).map { _ in Promise<Int>.withResolvers() }
    async let waited: Void = waitForPromises(pairs.map(\.promise))
    for pair in pairs { pair.resolver.fulfill(1) }
    try await waited
  }

  @Test func conditionThatBecomesTrue_endsTheWait() async throws {
    let counter = CallCounter()
    DispatchQueue.global().async { for _ in 0..<3 { counter.call() } }
    try await waitUntil { counter.count == 3 }
  }

  @Test @MainActor func condition_runsInTheIsolationOfTheCaller() async throws {
    var checks = 0
    try await waitUntil {
      MainActor.assertIsolated()
      checks += 1
      return checks == 10
    }
  }

  @Test func conditionThatStaysFalse_isAnError() async throws {
    let error = await #expect(throws: ExpectationError.self) {
      try await waitUntil(within: .zero) { false }
    }
    #expect(error?.message.contains("condition") == true)
    await #expect(throws: Boom.self) { try await waitUntil { throw Boom() } }
    let task = Task { try await waitUntil { false } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
