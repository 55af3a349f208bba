/// What the expectation helpers accept, and their messages when they fail.
@Suite struct Expectations {
  private struct Same: Error, Equatable, CustomStringConvertible { let description = "same" }

  private struct Alike: Error, CustomStringConvertible { let description = "same" }

  private func message(of body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "no failure"
    } catch { return "\(error)" }
  }

  @Test func waiting_namesWhatIsPending() async throws {
    let (slow, resolver) = Promise<Int>.withResolvers()
    let text = await message {
      try await waitForPromises(.value("a"), slow, within: .milliseconds(1))
    }
    #expect(text.hasPrefix("1 of 2 promises was still pending after 0.001 seconds: "))
    #expect(text.contains("no. 2 Promise<Int>(pending)"))
    #expect(text.contains("ExpectationTests.swift:"))
    resolver.fulfill(1)
    try await waitForPromises([slow, .value(2)])
    try await waitForPromises([Promise<Int>]())
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
    #expect(
      error.hasPrefix("Expected a rejection with an error of type OtherError, found Boom(code: 0)"))
    let equal = await message {
      try await expectRejection(of: Promise<Int>.rejected(Boom()), with: Boom(code: 1))
    }
    #expect(equal.hasPrefix("Expected a rejection with Boom(code: 1), found Boom(code: 0)"))
    let settled = await message { try expectPending(.value(1)) }
    #expect(settled.hasPrefix("Expected a pending promise, found Promise<Int>(fulfilled: 1)"))
  }

  @Test func strings_standInQuotes() async {
    let value = await message { try await expectFulfillment(of: .value("1"), with: "2") }
    #expect(value.hasPrefix("Expected the value \"2\", found \"1\""))
    let fulfilled = await message { try await expectRejection(of: Promise.value("1")) }
    #expect(fulfilled.hasPrefix("Expected a rejection, but the promise was fulfilled: \"1\""))
    let events = Recorder<String>()
    events.record("1")
    #expect(await message { try events.expect(["2"]) }.contains("events [\"2\"], found [\"1\"]"))
  }

  @Test func sidesThatReadAlike_haveTheirTypes() async {
    let text = await message {
      try await expectRejection(of: Promise<Int>.rejected(Alike()), with: Same())
    }
    #expect(text.hasPrefix("Expected a rejection with same of type Same, found same of type Alike"))
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
    #expect(await message { try calls.expectOnce() }.hasPrefix("Expected 1 call, counted 2"))
    #expect(await message { try calls.expect(3) }.hasPrefix("Expected 3 calls, counted 2"))
  }

  @Test func recorder_withManyWaiters_takesLinearTime() async {
    // Quadratic time would take minutes.
    let events = Recorder<Int>()
    let all = (1...100_000).map { events.reaches($0) }
    for event in all.indices { events.record(event) }
    #expect(all.allSatisfy { !$0.isPending })
  }

  @Test func lifetimes_nameLivingObjects() async throws {
    let lifetimes = LifetimeTracker()
    var token: LifetimeTracker.Token? = lifetimes.track("closure")
    #expect(token?.label == "closure")
    let text = await message { try await lifetimes.expectNoneAlive(within: .milliseconds(1)) }
    #expect(
      text.hasPrefix("Expected all tracked objects to be deallocated; still alive: 1 × closure"))
    token = nil
    try await lifetimes.expectNoneAlive()
    try lifetimes.expectNoneAliveNow()
    #expect(lifetimes.madeCount == 1)
  }

  @Test func manualExecutor_runsManyHandlersInOrder() {
    let (executor, order) = (ManualExecutor(), Recorder<Int>())
    let count = 10_000
    for index in 0..<count {
      Promise.value(index).done(on: executor) { order.record($0) }.ignoreErrors()
    }
    for index in 0..<3 { #expect(executor.runNext() && executor.count == count - 1 - index) }
    Promise.value(count).done(on: executor) { order.record($0) }.ignoreErrors()
    #expect(executor.runAll() == count - 2)
    #expect(order.events == Array(0...count))
  }

  @Test func manualExecutor() {
    let (executor, order) = (ManualExecutor(), Recorder<Int>())
    #expect(!executor.runNext() && !executor.isCurrent)
    for index in 0..<3 {
      Promise.value(index).done(on: executor) { value in
        #expect(executor.isCurrent)
        order.record(value)
        if value == 0 { Promise.value(9).done(on: executor) { order.record($0) }.ignoreErrors() }
      }.ignoreErrors()
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
    try await expectFulfillment(
      of: Promise(on: DispatchQueue.main) { try ExecutorProbe.main.expectCurrent() })
  }
}
