@testable import PledgeTesting

/// The state when `advance` returns.
@Suite struct Advancing {
  let clock = TestClock()

  @Test func timeout_hasSettled() async throws {
    for _ in 0..<2_000 {
      let promise = Promise<Int>.never
      let limited = promise.timeout(after: .seconds(1), clock: clock)
      await clock.advance(by: .seconds(1))
      #expect(!limited.isPending)
      limited.ignoreErrors()
    }
  }

  @Test func equalDeadlines_wakeInTheOrderOfTheCalls() async {
    let wakes = Recorder<Int>()
    for index in 0..<50 {
      Task { [clock] in
        try await clock.sleep(until: .init(offset: .seconds(1)))
        wakes.record(index)
      }
      await clock.sleepers(atLeast: index + 1)
    }
    await clock.advance(by: .seconds(1))
    #expect(wakes.events == Array(0..<50))
  }

  @Test func wokenTask_hasRunUpToItsNextSuspension() async throws {
    let (steps, gate) = (Recorder<String>(), Promise<Void>.withResolvers())
    @Sendable func later() async { steps.record("called") }
    let task = Task { [clock] in
      try await clock.sleep(for: .seconds(1))
      steps.record("woken")
      await later()
      try await gate.promise.value
      steps.record("done")
    }
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(1))
    #expect(steps.events == ["woken", "called"])
    gate.resolver.fulfill()
    try await task.value
    #expect(steps.events.last == "done")
  }

  @Test func handlerThatBlocks_andTaskThatYields_untilTimeHasPassed_letItPass() async throws {
    let gate = DispatchSemaphore(value: 0)
    let blocked = Promise.value(1).map(on: DispatchQueue(label: "blocked")) { _ in
      gate.wait(timeout: .now() + .seconds(60)) == .success
    }
    let timer = Promise.after(.seconds(1), clock: clock).done(on: .immediate) { gate.signal() }
    let yielding = Promise {
      let deadline = ContinuousClock.now + .seconds(60)
      while timer.isPending, ContinuousClock.now < deadline { await Task.yield() }
      return !timer.isPending
    }
    await clock.advance(by: .seconds(1))
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: timer)
    #expect(try await expectFulfillment(of: blocked), "The blocked handler waited for the timer.")
    #expect(try await expectFulfillment(of: yielding), "The yielding task waited for the timer.")
    #expect(clock.now.offset == .seconds(2))
  }

  // In a process of its own, because it blocks a thread for longer than a clock waits for work that
  // doesn't begin.
  @Test func followedPromise_isAwaited_howeverLate() async {
    await #expect(processExitsWith: .success) {
      let clock = TestClock()
      let (promise, resolver) = Promise<Int>.withResolvers()
      let followed = clock.follow(promise)
      let end = Recorder<Int>()
      let waiting = Thread {
        clock.work.waitUntilIdle { rounds in
          if rounds == 60 { resolver.fulfill(1) }
          end.record(rounds)
          return true
        }
        end.record(0)
      }
      waiting.start()
      try await expectFulfillment(of: followed, with: 1)
      await end.reaches(61).value
      #expect(end.events == Array(1...60) + [0])
    }
  }

  @Test func followedPromise_thatIsCancelledOrReleased_isAwaitedNoLonger() async {
    let promise = Promise<Int>.never
    let other = promise.map(on: .immediate) { $0 }
    clock.follow(promise).cancel()
    clock.follow(Promise<Int>.withResolvers().promise).ignoreErrors()
    await clock.advance(by: .seconds(1))
    #expect(clock.now.offset == .seconds(1) && other.isPending)
  }

  @Test func advancesAtATime_addUp() async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<1_000 { group.addTask { [clock] in await clock.advance(by: .seconds(1)) } }
    }
    #expect(clock.now.offset == .seconds(1_000))
  }

  @Test func instantInThePast_changesNothing() async {
    await clock.advance(by: .seconds(5))
    await clock.advance(to: .init(offset: .seconds(3)))
    #expect(clock.now.offset == .seconds(5))
  }

  // In a process of its own, because so many tasks would keep other tests waiting for a thread.
  @Test func fiveThousandSleepers_wakeInOrder() async {
    await #expect(processExitsWith: .success) {
      let clock = TestClock()
      let count = 5_000
      let order = Recorder<Int>()
      // Not in a group, which takes quadratic time to remove children out of order.
      let tasks = (0..<count).map { index in
        // Neither ascending nor descending.
        let seconds = index * 7_919 % count + 1
        return Task {
          try await clock.sleep(until: .init(offset: .seconds(seconds)))
          order.record(seconds)
        }
      }
      await clock.sleepers(atLeast: count)
      await clock.advance(by: .seconds(count / 2))
      #expect(order.count == count / 2)
      #expect(clock.sleeperCount == count / 2)
      await clock.run()
      for task in tasks { try await task.value }
      #expect(order.events == Array(1...count))
    }
  }

  @Test func cancelledSleepers_leaveTheQueueInOrder() async throws {
    let order = Recorder<Int>()
    let tasks = (1...100).map { seconds in
      Task { [clock] in
        try await clock.sleep(until: .init(offset: .seconds(seconds)))
        order.record(seconds)
      }
    }
    await clock.sleepers(atLeast: 100)
    for (index, task) in tasks.enumerated() where index.isMultiple(of: 3) { task.cancel() }
    #expect(clock.sleeperCount == 66)
    await clock.run()
    #expect(order.events == (1...100).filter { !($0 - 1).isMultiple(of: 3) })
  }
}
