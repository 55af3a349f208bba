import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md that share, limit and order work, in virtual time.

@Suite struct CookbookSharing {
  @Test func authors_areLoadedTogether() async throws {
    let (clock, batches) = (TestClock(), Recorder<[Int]>())
    let users = DataLoader<Int, User>(clock: clock) { ids in
      batches.record(ids)
      return try await server.users(ids: ids).mapValues { .success($0) }
    }
    let comments = [1, 2, 1].map { Comment(authorID: $0, text: "Hi") }
    let lines = lines(of: comments, users: users)
    await clock.advance(by: .milliseconds(1))
    #expect(try await lines.value == ["Ada: Hi", "Ada: Hi", "Ada: Hi"])
    #expect(batches.events == [[1, 2]])
  }

  @Test func cache_loadsOnceInItsLifetime() async throws {
    let (clock, loads) = (TestClock(), CallCounter())
    let cache = UserCache(clock: clock) { id in
      loads.call()
      return .value(User(id: id))
    }
    _ = try await Promise.all(cache.user(id: 1), cache.user(id: 1)).value
    _ = try await cache.user(id: 1).value
    try loads.expectOnce()
    await clock.advance(by: .seconds(61))
    _ = try await cache.user(id: 1).value
    try loads.expect(2)
  }

  @Test func staleRate_isServed_whileAnotherIsFetched() async throws {
    let clock = TestClock()
    let rates = makeRates(clock: clock)
    try await expectFulfillment(of: rates.promise(for: "EUR") { .value(1.0) }, with: 1)
    await clock.advance(by: .seconds(61))
    try await expectFulfillment(of: rates.promise(for: "EUR") { .value(1.5) }, with: 1)
    try await expectFulfillment(of: rates.promise(for: "EUR") { .value(2.0) }, with: 1.5)
  }

  @Test @MainActor func emptyText_hidesTheSpinner() async throws {
    let clock = TestClock()
    let field = SearchField(clock: clock) { _ in .never }
    field.textChanged(to: "s")
    #expect(field.showsSpinner)
    field.textChanged(to: "")
    try await waitUntil { !field.showsSpinner }
    #expect(field.hits.isEmpty)
  }

  @Test @MainActor func resultOfAnOlderText_thatWaitsForTheMainActor_isNotShown() async throws {
    let (clock, searches) = (TestClock(), CallCounter())
    let (result, resolver) = Promise<[String]>.withResolvers()
    let field = SearchField(clock: clock) { _ in
      searches.call()
      return result
    }
    field.textChanged(to: "s")
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .milliseconds(300))
    try await waitUntil { searches.count == 1 }
    resolver.fulfill(["old"])
    field.textChanged(to: "")
    try await endOfMainQueue()
    #expect(field.hits.isEmpty && !field.showsSpinner)
  }

  @Test @MainActor func search_runsForTheLastTextOnly() async throws {
    let (clock, searches) = (TestClock(), Recorder<String>())
    let field = SearchField(clock: clock) { text in
      searches.record(text)
      return .value([text])
    }
    field.textChanged(to: "s")
    field.textChanged(to: "sw")
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .milliseconds(300))
    try await waitUntil { !field.hits.isEmpty }
    #expect(field.hits == ["sw"] && searches.events == ["sw"])
  }

  @Test @MainActor func token_isReplacedOnceForAllRequests() async throws {
    let signIns = CallCounter()
    let session = Session { .value("token \(signIns.call())") }
    @Sendable func request(_ token: String) -> Promise<String> {
      token == "token 1" ? .rejected(Unauthorized()) : .value(token)
    }
    let both = Promise.all(session.send(request), session.send(request))
    #expect(try await both.value == ("token 2", "token 2"))
    #expect(signIns.count == 2)
  }

  @Test @MainActor func token_isRequestedAgainAfterASignInThatFailed() async throws {
    let signIns = CallCounter()
    let session = Session { signIns.call() == 1 ? .rejected(Offline()) : .value("token") }
    try await expectRejection(of: session.send { .value($0) }, with: Offline.self)
    try await expectFulfillment(of: session.send { .value($0) }, with: "token")
  }

  @Test func uploads_runTwoAtATime_urgentOnesFirst_andAreRetried() async throws {
    let (clock, started) = (TestClock(), Recorder<String>())
    let (first, resolver) = Promise<Void>.withResolvers()
    let queue = UploadQueue(clock: clock) { file in
      started.record(file)
      if file == "b" && started.events.count(where: { $0 == "b" }) == 1 {
        return .rejected(Offline())
      }
      return file == "a" ? first : .value(())
    }
    queue.pause()
    let uploads = [queue.upload("a"), queue.upload("c"), queue.upload("b", isUrgent: true)]
    queue.resume()
    await clock.sleepers(atLeast: 1)
    // Both start at once on a concurrent queue, in either order. "b" has overtaken "c".
    try await waitUntil { started.events.count == 2 }
    #expect(started.events.sorted() == ["a", "b"])
    await clock.advance(by: .seconds(1))
    resolver.fulfill()
    _ = try await Promise.all(uploads).value
    try await expectFulfillment(of: queue.idle())
    #expect(started.events.count(where: { $0 == "b" }) == 2)
  }

  @Test func thumbnails_areInTheOrderOfTheirNames() async throws {
    let sizes = thumbnails(of: ["a", "bb"]) { .value(Avatar(byteCount: $0.count)) }
      .map { $0.map(\.byteCount) }
    try await expectFulfillment(of: sizes, with: [1, 2])
  }

  @Test func migrations_runInOrder() async throws {
    let (clock, events) = (TestClock(), Recorder<String>())
    let done = runMigrations(["first", "second"]) { name in
      events.record("start \(name)")
      return Promise.after(.seconds(1), clock: clock).done { events.record("end \(name)") }
    }
    await clock.run(until: done)
    #expect(events.events == ["start first", "end first", "start second", "end second"])
  }

  @Test func limiter_startsTenPerSecond() async throws {
    let (clock, calls) = (TestClock(), CallCounter())
    let limiter = makeLimiter(clock: clock)
    let promises = (1...11).map { _ in limiter.run { Promise.value(calls.call()) } }
    _ = try await Promise.all(promises.dropLast()).value
    try expectPending(promises[10])
    await clock.run(until: promises[10])
    #expect(calls.count == 11)
  }

  @Test func callsBeforeTheConnectionIsOpen_waitForIt() async throws {
    let (connection, resolver) = Promise<Connection>.withResolvers()
    let library = Library { connection }
    let page = library.page("index.html")
    try expectPending(page)
    resolver.fulfill(Connection())
    #expect(try await page.value.text == "index.html")
  }
}
