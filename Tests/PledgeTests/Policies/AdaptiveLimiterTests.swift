/// `Limiter(adaptive:)`: the forms in which operations run.
@Suite struct AdaptiveLimiterTests {
  private let clock = TestClock()

  @Test func asyncOperations_areMeasured() async throws {
    let limiter = Limiter(adaptive: 1...100, initial: 10, clock: clock)
    /// Runs as many operations at a time as the limiter allows, which all take the latency for
    /// their number; half of them wait while it measures, and aren't needed.
    func runOperations(_ latency: (Int) -> Duration) async throws {
      let gate = Promise<Void>.withResolvers()
      let calls = (0..<limiter.limit).map { _ in limiter.run { try await gate.promise.value } }
      let running = limiter.runningCount
      #expect(running + limiter.waitingCount == calls.count)
      for call in calls[running...] { call.cancel() }
      await clock.advance(by: latency(running))
      gate.resolver.fulfill()
      for call in calls[..<running] { try await call.value }
    }
    for _ in 0..<100 { try await runOperations { _ in .milliseconds(100) } }
    let limit = limiter.limit
    #expect(limit > 15)
    for _ in 0..<100 { try await runOperations { .milliseconds(100 * $0) } }
    #expect(limiter.limit < limit / 2)
  }

  @Test func timeouts_andChosenErrors_shrinkTheLimit_othersDont() async throws {
    let limiter = Limiter(adaptive: 1...100, initial: 50, clock: clock)
    _ = try? await limiter.perform { throw Boom() }
    _ = try? await limiter.perform { throw CancellationError() }
    #expect(limiter.limit == 50)
    let late = limiter.run { [clock] in
      Promise<Int>.never.timeout(after: .seconds(1), clock: clock)
    }
    await clock.advance(by: .seconds(1))
    try await expectRejection(of: late, with: TimeoutError.self)
    #expect(limiter.limit == 45)
    let other = Limiter(
      adaptive: 1...100, initial: 50, clock: clock, isOverload: { $0 is OtherError })
    _ = try? await other.perform { throw TimeoutError(duration: .zero) }
    #expect(other.limit == 50)
    _ = try? await other.perform { throw OtherError() }
    #expect(other.limit == 45)
    other.limit = 1_000
    #expect(other.limit == 100)
  }

  @Test func isOverload_canUseTheLimiter() async throws {
    let itself = Box<Limiter?>(nil)
    let limiter = Limiter(
      adaptive: 1...100, initial: 50,
      isOverload: { _ in
        itself.value?.limit = 10
        return true
      })
    itself.value = limiter
    _ = try? await limiter.perform { throw Boom() }
    #expect(limiter.limit == 9)
    itself.value = nil
  }
}
