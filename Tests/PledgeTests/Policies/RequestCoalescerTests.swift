@Suite final class RequestCoalescerTests {
  private let table = RequestCoalescer<String, Int>()
  private let starts = CallCounter()

  private func ask(_ work: Promise<Int>) -> Promise<Int> {
    table.promise(for: "key") {
      starts.call()
      return work
    }
  }

  @Test func sharesTheWork() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let first = ask(work)
    let second = ask(work)
    try starts.expectOnce()
    resolver.fulfill(3)
    #expect(try await first.value == 3)
    #expect(try await second.value == 3)
    #expect(table.count == 0)
  }

  @Test func allCallersCancel_theWorkIsCancelledOnce() async throws {
    let (work, _, told) = Promise<Int>.withToldProducer()
    let callers = (0..<5).map { _ in ask(work) }
    for caller in callers { caller.cancel() }
    await #expect(throws: CancellationError.self) { try await work.value }
    try told.expectOnce()
    #expect(table.count == 0)
    let again = ask(.value(9))
    #expect(try await again.value == 9)
  }

  private let clock = TestClock()

  /// Requests the value of `key`, and returns how often work was started.
  private func count(_ cache: RequestCoalescer<Int, Int>, _ key: Int) async throws -> Int {
    try await cache.promise(for: key) { .value(starts.call()) }.value
  }

  @Test func caching_startsOnce() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init())
    for _ in 0..<3 { #expect(try await count(cache, 2) == 1) }
    cache.removeValue(for: 2)
    #expect(cache.count == 0)
    #expect(try await count(cache, 2) == 2)
    cache.removeAll()
    #expect(cache.count == 0)
  }

  @Test func values_endWithTheirLifetime() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init(lifetime: .seconds(10)), clock: clock)
    #expect(try await count(cache, 2) == 1)
    await clock.advance(by: .seconds(9))
    #expect(try await count(cache, 2) == 1)
    await clock.advance(by: .seconds(1))
    #expect(try await count(cache, 2) == 2)
    #expect(cache.count == 1)
  }

  @Test func staleValues_areServed_whileNewOnesAreFetched() async throws {
    let cache = RequestCoalescer<Int, Int>(
      caching: .init(lifetime: .seconds(10), staleLifetime: .seconds(5)), clock: clock)
    #expect(try await count(cache, 2) == 1)
    await clock.advance(by: .seconds(12))
    let (work, resolver) = Promise<Int>.withResolvers()
    #expect(try await cache.promise(for: 2) { work }.value == 1)
    // Fetched once for all callers.
    #expect(try await count(cache, 2) == 1)
    resolver.fulfill(7)
    #expect(try await count(cache, 2) == 7)
    #expect(starts.count == 1 && cache.count == 1)
    await clock.advance(by: .seconds(12))
    #expect(try await cache.promise(for: 2) { .rejected(Boom()) }.value == 7)
    #expect(try await count(cache, 2) == 7)
    await clock.advance(by: .seconds(15))
    #expect(try await count(cache, 2) > 1)
  }

  /// Why a stale value isn't there anymore while work that replaces it is in progress.
  enum Loss: CaseIterable { case expiry, eviction }

  @Test(arguments: Loss.allCases, [true, false])
  func refresh_isShared_afterTheStaleValueIsGone(_ loss: Loss, isFulfilled: Bool) async throws {
    let caching = CoalescerCaching(
      lifetime: .seconds(2), staleLifetime: .seconds(2), capacity: loss == .eviction ? 1 : nil)
    let cache = RequestCoalescer<Int, Int>(caching: caching, clock: clock)
    try await expectFulfillment(of: cache.promise(for: 1) { .value(1) }, with: 1)
    await clock.advance(by: .seconds(2))
    let (work, resolver) = Promise<Int>.withResolvers()
    try await expectFulfillment(of: cache.promise(for: 1) { work }, with: 1)
    switch loss {
    case .expiry: await clock.advance(by: .seconds(3))
    case .eviction: try await expectFulfillment(of: cache.promise(for: 2) { .value(2) }, with: 2)
    }
    let calls = CallCounter()
    let joined = (0..<2).map { _ in
      cache.promise(for: 1) {
        calls.call()
        return .value(4)
      }
    }
    // The refresh continues without callers.
    cache.promise(for: 1) { .value(5) }.cancel()
    joined[0].cancel()
    #expect(joined[1].isPending && work.isPending)
    if isFulfilled {
      resolver.fulfill(3)
      try await expectFulfillment(of: joined[1], with: 3)
      try await expectFulfillment(of: cache.promise(for: 1) { .value(6) }, with: 3)
    } else {
      resolver.reject(Boom())
      try await expectRejection(of: joined[1], with: Boom())
      try await expectFulfillment(of: cache.promise(for: 1) { .value(6) }, with: 6)
    }
    try calls.expectNever()
    #expect(cache.count == 1)
  }

  @Test func refreshThatRequestsItsKey_afterTheStaleValueIsGone_isRejected() async throws {
    let caching = CoalescerCaching(lifetime: .seconds(2), staleLifetime: .seconds(2))
    let cache = RequestCoalescer<Int, Int>(caching: caching, clock: clock)
    try await expectFulfillment(of: cache.promise(for: 1) { .value(1) }, with: 1)
    await clock.advance(by: .seconds(2))
    let (gate, resolver) = Promise<Void>.withResolvers()
    let inner = Promise<Int>.withResolvers()
    let stale = cache.promise(for: 1) {
      gate.then(on: .immediate) {
        inner.resolver.resolve(with: cache.promise(for: 1) { .value(2) })
        return inner.promise
      }
    }
    try await expectFulfillment(of: stale, with: 1)
    await clock.advance(by: .seconds(3))
    resolver.fulfill()
    try await expectRejection(of: inner.promise, with: PromiseError.returnedItself)
  }

  @Test func aCapacity_dropsTheLeastRecentlyUsed() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init(capacity: 2))
    for key in [1, 2, 1, 3] { _ = try await count(cache, key) }
    #expect(cache.count == 2)
    #expect(try await count(cache, 1) == 1)
    #expect(try await count(cache, 2) == 4)
  }

  @Test func aCapacity_countsTheArrivalOfAValueAsItsUse() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init(capacity: 1))
    let (work, resolver) = Promise<Int>.withResolvers()
    let first = cache.promise(for: 1) { work }
    _ = try await count(cache, 2)
    resolver.fulfill(10)
    #expect(try await first.value == 10)
    #expect(try await cache.promise(for: 1) { .rejected(Boom()) }.value == 10)
    // Removed while it is loaded: it takes no room when it arrives.
    let (late, lateResolver) = Promise<Int>.withResolvers()
    let removed = cache.promise(for: 3) { late }
    cache.removeValue(for: 3)
    lateResolver.fulfill(30)
    #expect(try await removed.value == 30)
    #expect(try await cache.promise(for: 1) { .rejected(Boom()) }.value == 10)
    #expect(cache.count == 1)
  }

  @Test func manyValues_beyondTheCapacity_replaceTheOldest() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init(capacity: 10_000))
    for key in 0..<20_000 {
      guard case .success(key)? = cache.promise(for: key, { .value(key) }).currentResult else {
        Issue.record("The value for \(key) hasn't arrived.")
        return
      }
    }
    #expect(cache.count == 10_000)
    try await expectFulfillment(of: cache.promise(for: 10_000) { .rejected(Boom()) }, with: 10_000)
    cache.removeAll()
    #expect(cache.count == 0)
  }

  @Test func workThatAsksForItsOwnKey_isRejected() async throws {
    let promise = table.promise(for: "key") { [table] in table.promise(for: "key") { .value(1) } }
    await #expect(throws: PromiseError.returnedItself) { try await promise.value }
    #expect(table.count == 0)
  }

  @Test func requestAfterTheWork_isNeverMistakenForARequestOfTheWork() async throws {
    let (numbers, late) = (RequestCoalescer<Int, Int>(), Recorder<Promise<Int>>())
    // On one thread, so that each entry can have the address of an earlier one.
    try await Task { @MainActor in
      for _ in 0..<50 {
        _ = numbers.promise(for: 1) { () -> Promise<Int> in
          Task { late.record(numbers.promise(for: 2) { () -> Promise<Int> in .value(4) }) }
          return .value(3)
        }
        await Task.yield()
      }
      try await expectFulfillment(of: late.reaches(50).promise)
    }.value
    for promise in late.events { #expect(try await promise.value == 4) }
  }

  @Test func callers_getTheResult_beforeClosuresInPlaceOfTheWork() throws {
    let calls = Recorder<String>()
    let (work, resolver) = Promise<Int>.withResolvers()
    work.done(on: .immediate) { _ in calls.record("work") }.ignoreErrors()
    let promise = table.promise(for: "key") { work }
    promise.done(on: .immediate) { _ in calls.record("caller") }.ignoreErrors()
    resolver.fulfill(3)
    #expect(calls.events == ["caller", "work"])
  }

  @Test func requestAfterTheWork_byATaskThatItStarted_getsTheCachedValue() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init())
    let (gate, open) = Promise<Void>.withResolvers()
    let late = Recorder<Promise<Int>>()
    let first = cache.promise(for: 1) { () -> Promise<Int> in
      Task {
        try await gate.value
        late.record(cache.promise(for: 1) { () -> Promise<Int> in .value(2) })
      }
      return .value(1)
    }
    try await expectFulfillment(of: first, with: 1)
    open.fulfill()
    try await expectFulfillment(of: late.reaches(1).promise)
    try await expectFulfillment(of: late.events[0], with: 1)
  }

  @Test func refresh_canRequestTheStaleValue() async throws {
    let cache = RequestCoalescer<Int, Int>(
      caching: .init(lifetime: .seconds(10), staleLifetime: .seconds(5)), clock: clock)
    #expect(try await count(cache, 2) == 1)
    await clock.advance(by: .seconds(12))
    let old = Recorder<Promise<Int>>()
    let stale = cache.promise(for: 2) { () -> Promise<Int> in
      old.record(cache.promise(for: 2) { () -> Promise<Int> in .rejected(Boom()) })
      return .value(7)
    }
    try await expectFulfillment(of: stale, with: 1)
    try await expectFulfillment(of: old.events[0], with: 1)
    #expect(try await count(cache, 2) == 7)
  }

  @Test func expiredValues_areRemoved_whenTheNumberOfKeysHasDoubled() async throws {
    let cache = RequestCoalescer<Int, Int>(
      caching: .init(lifetime: .seconds(10), staleLifetime: .seconds(5)), clock: clock)
    func add(_ keys: Range<Int>) {
      for key in keys {
        cache.promise(for: key) { () -> Promise<Int> in .value(key) }.ignoreErrors()
      }
    }
    let (work, resolver) = Promise<Int>.withResolvers()
    let (refresh, refreshResolver) = Promise<Int>.withResolvers()
    let pending = cache.promise(for: -1) { work }
    add(0..<62)
    await clock.advance(by: .seconds(12))
    // This value is being refreshed when it expires.
    try await expectFulfillment(of: cache.promise(for: 0) { refresh }, with: 0)
    await clock.advance(by: .seconds(3))
    #expect(cache.count == 63)
    add(100..<101)
    #expect(cache.count == 3)
    resolver.fulfill(1)
    try await expectFulfillment(of: pending, with: 1)
    refreshResolver.fulfill(2)
    try await expectFulfillment(of: cache.promise(for: 0) { refresh }, with: 2)
    #expect(cache.count == 3)
    // No sweep removes a value that is current, or only stale.
    add(101..<1_000)
    await clock.advance(by: .seconds(12))
    add(1_000..<2_000)
    #expect(cache.count == 1_902)
    await clock.advance(by: .seconds(12))
    add(2_000..<10_000)
    #expect(cache.count == 9_000)
  }
}
