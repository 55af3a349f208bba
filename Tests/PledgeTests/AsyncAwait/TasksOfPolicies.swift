/// The task-local values of the tasks that policies start for asynchronous closures, in a program
/// that propagates no keys.
@Suite struct TasksOfPolicies {
  @Test func queuedOperation_hasTheValuesOfItsSubmitter_notOfTheOneThatMadeRoom() async throws {
    let limiter = Limiter(1)
    let (gate, open) = Promise<Void>.withResolvers()
    let first = Request.$id.withValue(1) {
      limiter.run { () async throws -> Int in
        try await gate.value
        return Request.id
      }
    }
    let others = (2...5).map { id in
      Request.$id.withValue(id) { limiter.run { () async throws -> Int in Request.id } }
    }
    Request.$id.withValue(9) { open.fulfill() }
    #expect(try await Promise.all([first] + others).value == [1, 2, 3, 4, 5])
  }

  @Test func operationThatNeverStarts_endsItsTask() async throws {
    let limiter = Limiter(1, queueCapacity: 1)
    limiter.pause()
    let captured = LifetimeTracker()
    func submit() -> Promise<Void> {
      let object = captured.track()
      return limiter.run { () async throws -> Void in _ = object }
    }
    let (cancelled, cleared) = (submit(), submit())
    cancelled.cancel()
    let refused = submit()
    limiter.clear()
    for promise in [cancelled, cleared, refused] { _ = await promise.result }
    try await captured.expectNoneAlive()
  }

  @Test func secondHedge_hasTheValuesOfTheCaller() async throws {
    let (clock, calls) = (TestClock(), Recorder<Int>())
    let id = Request.$id.withValue(1) {
      Promise<Int>.hedged(delay: .seconds(1), clock: clock) { () async throws -> Int in
        calls.record(Request.id)
        if calls.count == 1 { try await Promise<Void>.never.value }
        return Request.id
      }
    }
    await calls.reaches(1).value
    await clock.advance(by: .seconds(1))
    #expect(try await id.value == 1)
  }

  @Test func operationWithATimeLimit_startsAtTheRaisedPriorityOfItsCaller() async throws {
    let caller = Task(priority: .background) {
      // Until the task that awaits this one has raised it.
      try await waitUntil { Task.currentPriority >= .high }
      let limited = try await withTimeout(.seconds(3600)) { Task.currentPriority }
      var all = [limited]
      for try await (_, result) in results(of: [1], limit: 1, { _ in Task.currentPriority }) {
        all.append(try result.get())
      }
      return all
    }
    #expect(try await Task(priority: .high) { try await caller.value }.value == [.high, .high])
  }
}
