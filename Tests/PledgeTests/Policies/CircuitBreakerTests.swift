@_spi(DropIns) import Pledge

@Suite struct CircuitBreakerTests {
  private let clock = TestClock()

  private func breaker(
    _ threshold: CircuitBreaker.Threshold = .consecutiveFailures(1), probes: Int = 1,
    slow: Duration? = nil, observer: (@Sendable (CircuitBreaker.State) -> Void)? = nil
  ) -> CircuitBreaker {
    CircuitBreaker(
      threshold, openDuration: .seconds(10), probes: probes, slowCallDuration: slow, clock: clock,
      observer: observer)
  }

  /// Makes a call through `breaker` that fails with `error`.
  private func fail(_ breaker: CircuitBreaker, _ error: any Error = Boom()) async {
    _ = try? await breaker.perform { throw error }
  }

  @Test func failures_openIt_andASuccessfulProbeClosesIt() async throws {
    let states = Recorder<CircuitBreaker.State>()
    let breaker = breaker(.consecutiveFailures(2), observer: { states.record($0) })
    for _ in 0..<2 { await fail(breaker) }
    #expect(breaker.state == .open)
    await clock.advance(by: .seconds(4))
    let error = await #expect(throws: CircuitOpenError.self) {
      try await breaker.perform { Issue.record("It runs.") }
    }
    #expect(error?.retryAfter == .seconds(6) && error?.retryAfterInSeconds == 6)
    #expect(error?.description == "The circuit breaker is open; it admits another call in 6 s.")
    await clock.advance(by: .seconds(6))
    #expect(breaker.state == .halfOpen)
    #expect(try await breaker.perform { 1 } == 1)
    #expect(breaker.state == .closed)
    #expect(states.events == [.open, .halfOpen, .closed])
  }

  @Test func promises_countLikeCallsOfTasks() async throws {
    let breaker = breaker(.consecutiveFailures(3))
    try await expectRejection(of: breaker.run { Promise<Int>.rejected(Boom()) }, with: Boom())
    try await expectRejection(
      of: breaker.run { () throws -> Promise<Int> in throw Boom() }, with: Boom())
    #expect(breaker.state == .closed)
    try await expectRejection(
      of: breaker.run { () async throws -> Int in throw Boom() }, with: Boom())
    #expect(breaker.state == .open)
    try await expectRejection(of: breaker.run { Promise.value(1) }, with: CircuitOpenError.self)
    try await expectRejection(
      of: breaker.run { () async throws -> Int in 1 }, with: CircuitOpenError.self)
    await clock.advance(by: .seconds(10))
    #expect(try await breaker.run { Promise.value(2) }.value == 2)
    #expect(breaker.state == .closed)
  }

  @Test func byHand_openAndClose() async throws {
    let breaker = breaker()
    breaker.open()
    breaker.open()
    await clock.advance(by: .seconds(1_000_000))
    #expect(breaker.state == .open)
    let error = await #expect(throws: CircuitOpenError.self) { try await breaker.perform {} }
    #expect(error?.retryAfter == nil && error?.retryAfterInSeconds == nil)
    #expect(error?.description == "The circuit breaker is open until it's closed by hand.")
    breaker.close()
    #expect(try await breaker.perform { 1 } == 1)
  }

  @Test func slowCalls_count_ifAsked() async throws {
    for (time, state) in [(Duration.seconds(1), CircuitBreaker.State.closed), (.seconds(2), .open)]
    {
      let patient = breaker()
      let strict = breaker(slow: .seconds(2))
      for breaker in [patient, strict] {
        let call = breaker.run { [clock] in Promise<Void>.after(time, clock: clock) }
        await clock.run(until: call)
        try await call.value
      }
      #expect(patient.state == .closed)
      #expect(strict.state == state)
    }
  }

  @Test func theChosenErrors_areFailures() async throws {
    let breaker = CircuitBreaker(.consecutiveFailures(2), clock: clock, isFailure: { $0 is Boom })
    await fail(breaker)
    // The service has responded.
    await fail(breaker, OtherError())
    await fail(breaker)
    #expect(breaker.state == .closed)
    await fail(breaker)
    #expect(breaker.state == .open)
  }

  @Test func cancelledCalls_dontCount_unlessChosen() async throws {
    let usual = breaker()
    let strict = CircuitBreaker(.consecutiveFailures(1), clock: clock, isFailure: { _ in true })
    for breaker in [usual, strict] {
      let (started, start) = Promise<Void>.withResolvers()
      let task = Task {
        try await breaker.perform {
          start.fulfill()
          _ = try? await Promise<Void>.never.value
          throw Boom()
        }
      }
      try await started.value
      task.cancel()
      // The error stays the operation's own.
      await #expect(throws: Boom()) { try await task.value }
    }
    #expect(usual.state == .closed)
    #expect(strict.state == .open)
    strict.close()
    for breaker in [usual, strict] {
      let promise = breaker.run { Promise<Int>.never }
      promise.cancel()
      try await expectCancellation(of: promise)
    }
    #expect(usual.state == .closed)
    #expect(strict.state == .open)
  }

  /// How a probe ends without a result that counts.
  enum Loss: CaseIterable { case cancelledBeforeItStarts, cancelledByItsCaller, abandoned }

  @Test(arguments: Loss.allCases)
  func probeWithoutAResult_givesThePlaceBack(loss: Loss) async throws {
    let breaker = breaker()
    await fail(breaker)
    await clock.advance(by: .seconds(10))
    let executor = ManualExecutor()
    let (shared, resolver) = Promise<Int>.withResolvers()
    let other = shared.map { $0 }
    let probe = breaker.run {
      loss == .cancelledBeforeItStarts ? Promise(on: executor) { 1 } : shared
    }
    if loss == .abandoned {
      resolver.abandon()
      // The handler that adopts the promise runs on a queue.
      await clock.settle()
      try expectPending(probe)
    } else {
      probe.cancel()
      try await expectCancellation(of: probe)
    }
    #expect(breaker.state == .halfOpen)
    #expect(try await breaker.perform { 2 } == 2)
    if resolver.reject(Boom()) { try await expectRejection(of: other, with: Boom()) }
    // Too late to count.
    #expect(breaker.state == .closed)
  }

  @Test func observer_canUseTheBreaker_andHearsTheChangesInOrder() async throws {
    let (states, itself) = (Recorder<CircuitBreaker.State>(), Box<CircuitBreaker?>(nil))
    let breaker = breaker(observer: { state in
      states.record(state)
      if state == .open, states.events.count < 3 {
        // Changes the state inside the observer, which is called again later.
        itself.value?.close()
        itself.value?.open()
        #expect(itself.value?.state == .open)
      }
    })
    itself.value = breaker
    await fail(breaker)
    #expect(states.events == [.open, .closed, .open])
    itself.value = nil
  }

  @Test func isFailure_canUseTheBreaker() async throws {
    let itself = Box<CircuitBreaker?>(nil)
    let breaker = CircuitBreaker(
      .consecutiveFailures(1), clock: clock,
      isFailure: { _ in
        itself.value?.open()
        itself.value?.close()
        return true
      })
    itself.value = breaker
    await fail(breaker)
    // The call belongs to the time before `open()`.
    #expect(breaker.state == .closed)
    itself.value = nil
  }

  @Test func manyThreads_theStatesFollowEachOtherInOrder() async throws {
    let states = Recorder<CircuitBreaker.State>()
    let breaker = CircuitBreaker(
      .consecutiveFailures(3), openDuration: .zero, probes: 2, observer: { states.record($0) })
    await inEightTasks(rounds: 2_000) { random in
      let choice = Int.random(in: 0..<10, using: &random)
      _ = try? await breaker.perform {
        if choice == 0 { await Task.yield() }
        if choice < 5 { throw Boom() }
      }
    }
    // Each state differs from the one before it.
    let events = states.events
    #expect(events.count > 3)
    #expect(zip(events, events.dropFirst()).allSatisfy { $0 != $1 })
    #expect(zip(events, events.dropFirst()).allSatisfy { $0 != .closed || $1 == .open })
    breaker.close()
    #expect(try await breaker.perform { 1 } == 1)
  }

  @Test func probeAgainstCancel_neverLosesThePlace() async throws {
    for _ in 0..<300 {
      let breaker = breaker()
      await fail(breaker)
      await clock.advance(by: .seconds(10))
      let (gate, resolver) = Promise<Int>.withResolvers()
      let probe = breaker.run { gate }
      async let cancelling: Void = probe.cancel()
      resolver.fulfill(1)
      await cancelling
      _ = await probe.result
      #expect(try await breaker.perform { 1 } == 1)
      #expect(breaker.state == .closed)
    }
  }
}
