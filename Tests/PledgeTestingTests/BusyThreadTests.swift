/// Expectations, and clocks, while all threads of the pool are busy, in a process of its own.
@Suite struct BusyThreadTests {
  // Computes on all cores for eight seconds, so only on request.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1"))
  func busyQueues_letNoTimePass_thatStartedWorkCanUse() async {
    await #expect(processExitsWith: .success) { try await outlastBusyQueues() }
  }

  @Test func busyThreads_extendTheTime() async {
    await #expect(processExitsWith: .success) { try await outlastBusyThreads() }
  }
}

/// A task that has been woken can't begin for longer than a clock waits for work that is stuck.
private func outlastBusyQueues() async throws {
  let clock = TestClock()
  let ticks = Recorder<Void>()
  let periodic = Task {
    for tick in 0..<10 {
      try await clock.sleep(for: .seconds(1))
      ticks.record(())
      if tick == 2 { occupyGlobalQueues(until: .now() + .seconds(8)) }
    }
  }
  await clock.sleepers(atLeast: 1)
  await clock.run()
  #expect(ticks.events.count == 10)
  try await periodic.value
}

private func occupyGlobalQueues(until end: DispatchTime) {
  for quality in [DispatchQoS.QoSClass.userInitiated, .default, .utility, .background] {
    for _ in 0..<16 {
      DispatchQueue.global(qos: quality).async { while DispatchTime.now() < end {} }
    }
  }
}

private func outlastBusyThreads() async throws {
  let (promise, resolver) = Promise<Int>.withResolvers()
  let begun = Recorder<Int>()
  let expectation = Task.detached {
    begun.record(0)
    try await expectFulfillment(of: promise, with: 1, within: .milliseconds(100))
  }
  // A new thread, because all others become busy, including that of the main queue.
  Thread.detachNewThread {
    let (gate, busy) = (DispatchSemaphore(value: 0), Recorder<Int>())
    let count = ProcessInfo.processInfo.activeProcessorCount
    // It ends the process, because this thread can't throw to the test.
    func wait(for what: String, until condition: () -> Bool) {
      let deadline = DispatchTime.now() + .seconds(60)
      while !condition() {
        precondition(DispatchTime.now() < deadline, "Waited 60 s for \(what).")
        Thread.sleep(forTimeInterval: 0.01)
      }
    }

    wait(for: "the expectation to begin") { begun.count == 1 }
    for number in 0..<count {
      Task.detached {
        busy.record(number)
        block(at: gate)
      }
    }
    wait(for: "\(count) tasks to block all threads") { busy.count == count }
    // Once the task can run, it takes longer than ending a wait whose time has expired.
    Task.detached {
      for _ in 0..<100 { await Task.yield() }
      resolver.fulfill(1)
    }
    // Three times the expectation's limit.
    Thread.sleep(forTimeInterval: 0.3)
    for _ in 0..<count { gate.signal() }
  }
  try await expectation.value
}

/// Synchronous, so that it may block.
private func block(at gate: DispatchSemaphore) { gate.wait() }
