import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md about failures and time, in virtual time.

@Suite struct CookbookFailures {
  @Test func crawler_readsEachAddress_untilTheDeadline() async throws {
    let (clock, stuck) = (TestClock(), Recorder<String>())
    let site = ["/": ["a", "b"], "a": ["/", "c"], "b": ["lost"], "c": ["slow"]]
    let report = Task {
      await crawl(from: "/", until: clock.now.advanced(by: .seconds(10)), clock: clock) { address in
        if address == "slow" {
          stuck.record(address)
          return try await Promise<[String]>.never.value
        }
        guard let links = site[address] else { throw Offline() }
        return links
      }
    }
    await stuck.reaches(1).value
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(10))
    let found = await report.value
    #expect(found.keys.sorted() == ["/", "a", "b", "c", "lost"])
    #expect(throws: Offline.self) { try found["lost"]?.get() }
  }

  @Test func transientErrors_areRetried_andOthersAreNot() async throws {
    let (clock, calls) = (TestClock(), CallCounter())
    let news = loadNews(clock: clock) { calls.call() < 3 ? .rejected(Offline()) : .value(["rain"]) }
    await clock.run(until: news)
    try await expectFulfillment(of: news, with: ["rain"])
    let failed = loadNews(clock: clock) {
      calls.call()
      return .rejected(ServerError.notFound)
    }
    let error = try await expectRejection(of: failed, with: ServerError.self)
    #expect(error == .notFound && calls.count == 4)
  }

  @Test func slowNews_areReplacedByTheCache() async throws {
    let clock = TestClock()
    let news = newsOrCache(fresh: .never, cached: ["old"], clock: clock)
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(2))
    try await expectFulfillment(of: news.promise, with: ["old"])
  }

  @Test func partialFailure_keepsWhatSucceeded() async throws {
    let (users, errors) = try await loadUsers(ids: [1, 2, 3]) { id in
      id == 2 ? .rejected(Offline()) : .value(User(id: id))
    }.value
    #expect(users.map(\.id) == [1, 3] && errors.count == 1)
  }

  @Test func firstFailure_cancelsTheRest() async throws {
    let slow = Promise<Page>.never
    let parts = loadParts(["slow", "bad"]) { $0 == "bad" ? .rejected(Offline()) : slow }
    try await expectRejection(of: parts, with: Offline.self)
    #expect(slow.isCancelled)
  }

  @Test func slowerMirror_isCancelled() async throws {
    let slow = Promise<Page>.never
    let page = fastestPage(from: ["slow", "bad", "good"]) { mirror in
      mirror == "slow" ? slow : mirror == "bad" ? .rejected(Offline()) : .value(Page(text: mirror))
    }
    #expect(try await page.value.text == "good")
    #expect(slow.isCancelled)
  }

  @Test func secondAttempt_overtakesTheFirst() async throws {
    let (clock, calls) = (TestClock(), CallCounter())
    let page = hedgedPage(clock: clock) {
      calls.call() == 1 ? .never : .value(Page(text: "second"))
    }
    await clock.run(until: page)
    #expect(try await page.value.text == "second")
  }

  @Test func polling_endsWithTheJob() async throws {
    let (clock, calls) = (TestClock(), CallCounter())
    let job = waitForJob(every: .seconds(10), clock: clock) {
      .value(calls.call() < 4 ? .running : .finished)
    }
    await clock.run(until: job)
    try await expectFulfillment(of: job, with: .finished)
    #expect(clock.now.offset == .seconds(30))
  }

  @Test func polling_thatIsCancelled_leavesNoTimer() async throws {
    let clock = TestClock()
    let job = waitForJob(every: .seconds(10), clock: clock) { .value(.running) }
    await clock.sleepers(atLeast: 1)
    job.cancel()
    try await expectCancellation(of: job)
    await clock.noSleepers()
  }

  @Test func pages_areJoined() async throws {
    let items = allItems { page in
      .value(Batch(items: ["item \(page)"], next: page < 2 ? page + 1 : nil))
    }
    try await expectFulfillment(of: items, with: ["item 0", "item 1", "item 2"])
  }

  @Test func results_arriveInOrderOfCompletion() async throws {
    let (slow, resolver) = Promise<Page>.withResolvers()
    let log = Recorder<String>()
    let reporting = Promise { await report(on: [slow, .value(Page(text: "fast"))], to: log) }
    _ = await log.reaches(1).value
    resolver.reject(Offline())
    try await expectFulfillment(of: reporting)
    #expect(log.events == ["loaded fast", "failed: Offline()"])
  }

  @Test func resource_isReleased() async throws {
    let log = Recorder<String>()
    #expect(try await readIndex(open: openConnection, log: log).value.text == "index.html")
    #expect(log.events == ["closed"])
  }
}
