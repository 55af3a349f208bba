import Dispatch
import Pledge
import PledgeTesting
import Testing

/// The helpers of `PledgeTesting`: what they accept, and what they say when they do not.
@Suite struct Helpers {
  private func message(of body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "no failure"
    } catch {
      return "\(error)"
    }
  }

  @Test func waiting_namesWhatIsPending() async throws {
    let (slow, resolver) = Promise<Int>.withResolvers()
    let text = await message {
      try await waitForPromises(.value("a"), slow, within: .milliseconds(1))
    }
    #expect(text.hasPrefix("1 of 2 promises had not settled within 0.001 seconds"))
    #expect(text.contains("no. 2 Promise<Int>(pending)"))
    #expect(text.contains("Helpers.swift:"))
    resolver.fulfill(1)
    try await waitForPromises([slow, .value(2)])
    try await waitForPromises([Promise<Int>]())
  }

  @Test func blocking() throws {
    func block(_ promises: [Promise<Int>], _ limit: Duration) throws {
      try blockForPromises(promises, within: limit)
    }
    let (slow, resolver) = Promise<Int>.withResolvers()
    #expect(throws: ExpectationFailure.self) { try block([slow], .milliseconds(1)) }
    DispatchQueue.global().async { resolver.fulfill(1) }
    try block([slow], .seconds(10))
  }

  @Test func expectations_sayWhatWasFound() async throws {
    let rejected = await message { try await expectFulfillment(of: Promise<Int>.rejected(Boom())) }
    #expect(rejected.hasPrefix("Expected a value, but the promise was rejected: Boom(code: 0)"))
    let value = await message { try await expectFulfillment(of: .value(1), with: 2) }
    #expect(value.hasPrefix("Expected the value 2, found 1"))
    let fulfilled = await message { try await expectRejection(of: Promise.value(1)) }
    #expect(fulfilled.hasPrefix("Expected a rejection, but the promise was fulfilled: 1"))
    let error = await message {
      try await expectRejection(of: Promise<Int>.rejected(Boom()), with: OtherError.self)
    }
    #expect(error.hasPrefix("Expected a rejection with OtherError, found Boom(code: 0)"))
    let equal = await message {
      try await expectRejection(of: Promise<Int>.rejected(Boom()), with: Boom(code: 1))
    }
    #expect(equal.hasPrefix("Expected a rejection with Boom(code: 1), found Boom(code: 0)"))
    let settled = await message { try expectPending(.value(1)) }
    #expect(settled.hasPrefix("Expected a pending promise, found Promise<Int>(fulfilled: 1)"))
  }

  @Test func recorderAndCounter() async throws {
    let order = Recorder<Int>()
    let reached = order.reaches(2)
    order.record(1)
    #expect(reached.isPending)
    order.record(2)
    await reached.value
    await order.reaches(1).value
    try order.expect([1, 2])
    #expect(await message { try order.expect([2, 1]) }.contains("found [1, 2]"))
    let calls = CallCounter()
    try calls.expectNever()
    calls.call()
    try calls.expectOnce()
    calls.call()
    #expect(await message { try calls.expectOnce() }.hasPrefix("Expected 1 calls, counted 2"))
  }

  @Test func lifetimes_nameWhoIsAlive() async throws {
    let lifetimes = LifetimeTracker()
    var token: LifetimeTracker.Token? = lifetimes.track("closure")
    #expect(token?.label == "closure")
    let text = await message { try await lifetimes.expectNoneAlive(within: .milliseconds(1)) }
    #expect(text.hasPrefix("Expected all to be let go of, but alive are: 1 × closure"))
    token = nil
    try await lifetimes.expectNoneAlive()
    try lifetimes.expectNoneAliveNow()
    #expect(lifetimes.madeCount == 1)
  }

  @Test func manualExecutor() {
    let executor = ManualExecutor()
    let order = Recorder<Int>()
    #expect(!executor.runNext() && !executor.isCurrent)
    for index in 0..<3 {
      Promise.value(index).done(on: executor) { value in
        #expect(executor.isCurrent)
        order.record(value)
        if value == 0 { Promise.value(9).done(on: executor) { order.record($0) }.cauterize() }
      }.cauterize()
    }
    #expect(executor.count == 3)
    #expect(executor.runNext())
    #expect(executor.count == 3)
    #expect(executor.runAll() == 3)
    #expect(order.events == [0, 1, 2, 9])
  }

  @Test func executorProbe() async throws {
    let queue = DispatchQueue(label: "probe")
    let probe = ExecutorProbe(queue)
    #expect(!probe.isCurrent)
    queue.sync { #expect(probe.isCurrent) }
    #expect(await message { try probe.expectCurrent() }.hasPrefix("Expected to run on the queue"))
    try await expectFulfillment(of: Promise(on: .main) { try ExecutorProbe.main.expectCurrent() })
  }
}

/// `TestClock`.
@Suite struct TestClockTests {
  let clock = TestClock()

  private func sleeper(_ seconds: Int, _ order: Recorder<Int>) -> Task<Void, any Error> {
    Task { [clock] in
      try await clock.sleep(for: .seconds(seconds))
      order.record(seconds)
    }
  }

  @Test func sleepersWakeInOrder_whenTheirTimeHasCome() async throws {
    let order = Recorder<Int>()
    var tasks: [Task<Void, any Error>] = []
    for (index, seconds) in [30, 10, 20].enumerated() {
      tasks.append(sleeper(seconds, order))
      await clock.sleepers(reach: index + 1)
    }
    for (index, seconds) in [10, 20, 30].enumerated() {
      await clock.advance(by: .seconds(10))
      await order.reaches(index + 1).value
      #expect(order.events.last == seconds)
      #expect(clock.sleeperCount == 2 - index)
    }
    for task in tasks { try await task.value }
    #expect(clock.now.offset == .seconds(30))
  }

  @Test func run_letsAllTimePass() async throws {
    let order = Recorder<Int>()
    let tasks = [sleeper(3_600, order), sleeper(7_200, order)]
    await clock.sleepers(reach: 2)
    await clock.run()
    for task in tasks { try await task.value }
    #expect(clock.now.offset == .seconds(7_200))
  }

  @Test func runUntil_followsOneSleepAfterTheOther() async throws {
    let start = Promise.value(0)
    let chain = (1...5).reduce(start) { [clock] promise, hour in
      promise.delay(.seconds(3_600), clock: clock).map { $0 + hour }
    }
    await clock.run(until: chain)
    try await expectFulfillment(of: chain, with: 15)
    #expect(clock.now.offset == .seconds(5 * 3_600))
  }

  @Test func cancelledSleep_endsAtOnce() async throws {
    let order = Recorder<Int>()
    let task = sleeper(10, order)
    await clock.sleepers(reach: 1)
    task.cancel()
    await clock.sleepers(reach: 0)
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(order.count == 0)
  }

  @Test func cancelAgainstAdvance_bothOrders() async throws {
    for _ in 0..<100 {
      let task = sleeper(1, Recorder<Int>())
      await clock.sleepers(reach: 1)
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
