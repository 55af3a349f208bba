/// `TestClock`.
@Suite struct TestClockTests {
  let clock = TestClock()

  private func sleeper(_ seconds: Int, _ order: Recorder<Int>) -> Task<Void, any Error> {
    Task { [clock] in
      try await clock.sleep(for: .seconds(seconds))
      order.record(seconds)
    }
  }

  @Test func runUntil_takesAGuarantee() async {
    let late = Promise<Int>.never.timeout(after: .seconds(5), clock: clock)
    let end = late.done { _ in }.catch { _ in }
    await clock.run(until: end)
    #expect(!end.isPending)
    #expect(clock.now.offset == .seconds(5))
  }

  @Test func cancelledSleep_endsAtOnce() async throws {
    let order = Recorder<Int>()
    let task = sleeper(10, order)
    await clock.sleepers(atLeast: 1)
    task.cancel()
    await clock.noSleepers()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(order.count == 0)
  }

  @Test func cancelAgainstAdvance_bothOrders() async throws {
    for _ in 0..<100 {
      let task = sleeper(1, Recorder<Int>())
      await clock.sleepers(atLeast: 1)
      async let advanced: Void = clock.advance(by: .seconds(1))
      task.cancel()
      await advanced
      _ = await task.result
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test func sleepThatIsOver_doesNotSleep() async throws {
    await clock.advance(by: .seconds(5))
    try await clock.sleep(until: .init(offset: .seconds(5)))
    try await clock.sleep(for: .zero)
  }
}
