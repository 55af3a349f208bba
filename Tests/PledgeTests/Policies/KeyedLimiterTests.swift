@Suite struct KeyedLimiterTests {
  @Test func eachKey_hasItsOwnLimiter() async throws {
    let made = Recorder<String>()
    let limiters = KeyedLimiter<String> { host in
      made.record(host)
      return Limiter(1)
    }
    let gate = Promise<Int>.withResolvers()
    let first = limiters.limiter(for: "a").run { gate.promise }
    let second = limiters.limiter(for: "a").run { Promise.value(2) }
    try await expectFulfillment(of: limiters.limiter(for: "b").run { Promise.value(3) }, with: 3)
    #expect(limiters.limiter(for: "a").waitingCount == 1)
    gate.resolver.fulfill(1)
    try await expectFulfillment(of: first, with: 1)
    try await expectFulfillment(of: second, with: 2)
    #expect(made.events == ["a", "b"] && limiters.count == 2)
  }

  @Test func idleKeys_areRemoved_leastRecentlyUsedFirst() async throws {
    let made = Recorder<Int>()
    let limiters = KeyedLimiter<Int>(capacity: 3) { key in
      made.record(key)
      return Limiter(1)
    }
    for key in [1, 2, 3, 1, 4] { _ = limiters.limiter(for: key) }
    #expect(limiters.count == 3)
    for key in [1, 3, 4] { _ = limiters.limiter(for: key) }
    #expect(made.events == [1, 2, 3, 4])
    for key in 0..<100_000 { _ = limiters.limiter(for: key) }
    #expect(limiters.count == 3)
  }

  @Test func limitersInUse_stay() async throws {
    let clock = TestClock()
    let limiters = KeyedLimiter<String>(capacity: 0) { _ in
      Limiter(1, rate: .init(5, per: .seconds(10)), clock: clock)
    }
    func fill() { for number in 0..<50 { _ = limiters.limiter(for: "other \(number)") } }
    let gate = Promise<Int>.withResolvers()
    // One that runs an operation and has one waiting, one that is paused, and one that is held.
    let running = limiters.limiter(for: "running").run { gate.promise }
    let waiting = limiters.limiter(for: "running").run { gate.promise }
    limiters.limiter(for: "paused").pause()
    let held = limiters.limiter(for: "held")
    fill()
    #expect(limiters.limiter(for: "running").runningCount == 1)
    #expect(limiters.limiter(for: "running").waitingCount == 1)
    let isPaused = limiters.limiter(for: "paused").run { Promise.value(1) }
    #expect(isPaused.isPending)
    #expect(limiters.limiter(for: "held") === held)
    limiters.limiter(for: "paused").resume()
    gate.resolver.fulfill(1)
    for promise in [running, waiting, isPaused] {
      try await expectFulfillment(of: promise, with: 1)
    }
    // Its rate still counts the operations.
    try await expectFulfillment(of: limiters.limiter(for: "running").idle())
    let counted = ObjectIdentifier(limiters.limiter(for: "running"))
    fill()
    #expect(ObjectIdentifier(limiters.limiter(for: "running")) == counted)
    await clock.advance(by: .seconds(10))
    withExtendedLifetime(held) {}
    for _ in 0..<20 { _ = limiters.limiter(for: "last") }
    #expect(limiters.count <= 2)
  }

  @Test func limitersThatBecomeIdle_areRemoved_withinAQuarterAsManyCalls() {
    let limiters = KeyedLimiter<Int>(capacity: 10) { _ in Limiter(1) }
    var held = (0..<400).map { limiters.limiter(for: $0) }
    #expect(limiters.count == 400)
    // Every second limiter stays in use.
    for number in 0..<200 { held[2 * number] = held[2 * number + 1] }
    for _ in 0..<100 { _ = limiters.limiter(for: 1) }
    #expect(limiters.count == 200)
    held = []
    for _ in 0..<50 { _ = limiters.limiter(for: 1) }
    #expect(limiters.count == 10)
  }

  @Test func limitersThatBecomeIdle_areRemoved_byTheNextCall() {
    let limiters = KeyedLimiter<Int>(capacity: 10) { _ in Limiter(1) }
    var held = (0..<1_000).map { limiters.limiter(for: $0) }
    #expect(held.count == 1_000 && limiters.count == 1_000)
    held = []
    _ = limiters.limiter(for: 1)
    #expect(limiters.count == 10)
  }

  @Test func taskThatWaits_keepsItsLimiter() async throws {
    let limiters = KeyedLimiter<Int>(capacity: 0) { _ in Limiter(1) }
    let (gate, resolver) = Promise<Void>.withResolvers()
    let most = Box((now: 0, most: 0))
    let tasks = (0..<4).map { _ in
      Task {
        try await limiters.limiter(for: 7).perform {
          most.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
          try await gate.value
          most.update { $0.now -= 1 }
        }
      }
    }
    for number in 0..<1_000 { _ = limiters.limiter(for: 10 + number) }
    resolver.fulfill()
    for task in tasks { try await task.value }
    #expect(most.value.most == 1)
  }

  /// A key whose hash is always the same, and that uses the limiters when it's compared.
  private struct BadKey: Hashable, Sendable {
    let number: Int
    let compare: @Sendable () -> Void

    static func == (left: Self, right: Self) -> Bool {
      left.compare()
      return left.number == right.number
    }

    func hash(into hasher: inout Hasher) {}
  }

  @Test func keys_areComparedWithoutTheLock_alsoWithEqualHashes() async throws {
    let itself = Box<KeyedLimiter<BadKey>?>(nil)
    let limiters = KeyedLimiter<BadKey>(capacity: 5) { _ in Limiter(1) }
    itself.value = limiters
    let keys = (0..<10).map { number in BadKey(number: number) { _ = itself.value?.count } }
    for key in keys + keys { _ = limiters.limiter(for: key) }
    #expect(limiters.count == 5)
    #expect(limiters.limiter(for: keys[3]) === limiters.limiter(for: keys[3]))
    itself.value = nil
  }

  @Test func makeLimiter_canUseTheOtherKeys() async throws {
    let itself = Box<KeyedLimiter<Int>?>(nil)
    let limiters = KeyedLimiter<Int> { key in
      if key > 0 { _ = itself.value?.limiter(for: key - 1) }
      return Limiter(1)
    }
    itself.value = limiters
    _ = limiters.limiter(for: 20)
    #expect(limiters.count == 21)
    itself.value = nil
  }

  @Test func manyThreads_neverExceedALimit_andTheMemoryStaysBounded() async throws {
    let limiters = KeyedLimiter<Int>(capacity: 4) { _ in Limiter(2) }
    let running = Box([Int: Int]())
    await inEightTasks(rounds: 2_000) { random in
      let key = Int.random(in: 0..<12, using: &random)
      try? await limiters.limiter(for: key).perform {
        running.update { $0[key, default: 0] += 1 }
        #expect(running.value[key, default: 0] <= 2)
        if key % 3 == 0 { await Task.yield() }
        running.update { $0[key, default: 0] -= 1 }
      }
    }
    for _ in 0..<10 { _ = limiters.limiter(for: 0) }
    #expect(limiters.count <= 5)
  }
}
