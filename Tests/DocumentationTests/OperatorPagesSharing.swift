import Pledge
import PledgeTesting
import Testing

// The examples of the pages on sharing, limiting, and awaiting, and tests of what their diagrams
// show.

// MARK: LimitingWork.md

private func limiting(_ user: User, _ names: [String]) async throws -> Page {
  let limiter = Limiter(4, rate: .init(10, per: .seconds(1)), queueCapacity: 100)
  let avatar = limiter.run(priority: 1) { fetchAvatar(of: user) }
  let page = try await limiter.perform { try await download("index.html") }

  _ = limiter.run { downloadPage(from: "a") }
  _ = Promise.all(names.map { name in limiter.run { downloadPage(from: name) } })
  _ = avatar
  return page
}

private func limitingEach(_ user: User) {
  let perUser = KeyedLimiter<User>(capacity: 10_000) { _ in Limiter(2) }
  let picture = perUser.limiter(for: user).run { fetchAvatar(of: user) }

  let adaptive = Limiter(adaptive: 4...400)
  let news = adaptive.run { fetchNews() }

  _ = KeyedLimiter<User> { _ in Limiter(2) }
  _ = (picture, news)
}

// MARK: CircuitBreaking.md

private func breaking(_ user: User) async throws -> Page {
  let breaker = CircuitBreaker(
    .failureRate(0.5, ofLast: 50), openDuration: .seconds(10))
  let avatar = breaker.run { fetchAvatar(of: user) }
  let page = try await breaker.perform { try await download("index.html") }

  _ = breaker.run { fetchNews().timeout(after: .seconds(2)) }
  _ = RetryPolicy.fixed(attempts: 3)
    .retrying { error in !(error is CircuitOpenError) }
  _ = avatar
  return page
}

// MARK: Pipelines.md

private func combining(_ policy: RetryPolicy, _ user: User) async throws -> Page {
  let breaker = CircuitBreaker(.failureRate(0.5, ofLast: 50))
  let service = ResiliencePipeline(
    .timeout(.seconds(10)), .retry(policy), .circuitBreaker(breaker), .timeout(.seconds(2)))

  let avatar = service.run { fetchAvatar(of: user) }
  let page = try await service.perform { try await download("index.html") }

  _ = service.run { fetchNews() }
  _ = Promise.hedged(delay: .milliseconds(50)) { service.run { downloadPage(from: "a") } }
  _ = avatar
  return page
}

// MARK: SupersedingWork.md

private func previewing(_ name: String) {
  let latest = LatestOnly<Page>(debounce: .milliseconds(200))
  latest.run { downloadPage(from: name) }.ignoreErrors()
}

// MARK: CoalescingRequests.md

private func coalescing(_ name: String) async throws -> String {
  let pages = RequestCoalescer<String, Page>(caching: .init(lifetime: .seconds(60), capacity: 100))
  let page = pages.promise(for: "index.html") { downloadPage(from: "index.html") }
  let text = try await pages.value(for: "about.html") { try await download("about.html") }.text

  _ = pages.promise(for: name) { downloadPage(from: name) }
  _ = page
  return text
}

// MARK: LoadingBatches.md

private func batching(_ ids: [Int]) async throws -> User {
  let users = DataLoader<Int, User>(maxBatchSize: 100) { ids in
    try await server.users(ids: ids).mapValues { user in .success(user) }
  }
  let ada = users.promise(for: 7)
  let both = Promise.all([7, 8].map { id in users.promise(for: id) })
  let grace = try await users.value(for: 8)

  var list: [User] = []
  for id in ids { list.append(try await server.user(id: id)) }
  for id in ids { list.append(try await users.value(for: id)) }
  list += try await Promise.all(ids.map { id in users.promise(for: id) }).value
  #expect(try await both.value.first == ada.value)
  return grace
}

// MARK: CancelAndProtect.md

@MainActor
final class NewsScreen {
  private let scope = PromiseScope()
  private let shared = fetchNews()
  private(set) var count = 0

  func load() {
    shared.bound(to: scope)
      .done(weak: self) { screen, news in screen.count = news.count }
      .ignoreErrors()
  }

  func news() -> Promise<[String]> { shared.uncancellable() }
}

private func protectedUser() -> Promise<User> {
  let shared = fetchUser(id: 7)
  return shared.uncancellable()
}

// MARK: Using.md

private func using() -> Promise<Page> {
  let index = Promise.using(openConnection(), release: { connection in _ = connection.close() }) {
    connection in connection.get("index.html")
  }

  _ = Promise.using(openConnection(), release: { c in _ = c.close() }) { c in c.get("a") }
  return index
}

// MARK: AwaitAndWait.md

private func awaiting() async throws -> String {
  let name = try await fetchUser(id: 7).value.name
  let result = await fetchNews().result

  _ = try await fetchUser(id: 7).value
  _ = result
  return name
}

@Suite struct OperatorPagesSharing {
  @Test func loader_loadsTheKeysOfAllCallersOnce_andCancelsByKey() async throws {
    #expect(try await batching([7, 8]).id == 8)
    let (clock, batches) = (TestClock(), Recorder<[Int]>())
    let users = DataLoader<Int, User>(clock: clock) { ids in
      batches.record(ids)
      return Dictionary(
        uniqueKeysWithValues: ids.map { id in
          (id, id == 9 ? .failure(Offline()) : .success(User(id: id)))
        })
    }
    let requests = [7, 9, 7, 8].map { id in users.promise(for: id) }
    requests[3].cancel()
    await clock.advance(by: .milliseconds(1))
    #expect(try await requests[0].value.id == 7)
    try await expectRejection(of: requests[1], with: Offline.self)
    #expect(try await requests[2].value.id == 7)
    try await expectCancellation(of: requests[3])
    #expect(batches.events == [[7, 9]])
  }

  @Test func limiter_startsTheNextWhenOneHasEnded_andRejectsIfTheQueueIsFull() async throws {
    #expect(try await limiting(.guest, ["a"]).text == "index.html")
    let limiter = Limiter(1, queueCapacity: 1)
    let (first, resolver) = Promise<Int>.withResolvers()
    let running = limiter.run { first }
    let waiting = limiter.run { Promise.value(2) }
    let rejected = limiter.run { Promise.value(3) }
    try await expectRejection(of: rejected, with: Limiter.QueueFullError.self)
    try expectPending(waiting)
    resolver.fulfill(1)
    try await expectFulfillment(of: waiting, with: 2)
    try await expectFulfillment(of: running, with: 1)
  }

  @Test func coalescer_sharesARequest_andForgetsFailures() async throws {
    previewing("a")
    #expect(try await coalescing("a") == "about.html")
    let users = RequestCoalescer<Int, Int>()
    let starts = CallCounter()
    let (request, resolver) = Promise<Int>.withResolvers()
    func user() -> Promise<Int> {
      users.promise(for: 7) {
        starts.call()
        return request
      }
    }
    let (a, b) = (user(), user())
    a.cancel()
    try await expectCancellation(of: a)
    try expectPending(request)
    resolver.reject(Offline())
    try await expectRejection(of: b, with: Offline.self)
    try starts.expectOnce()
    try await waitUntil { users.count == 0 }
    try await expectFulfillment(of: users.promise(for: 7) { .value(8) }, with: 8)
  }

  @Test @MainActor func cancel_sparesOtherConsumers_unlessThePromiseItselfIsCancelled()
    async throws
  {
    let screen = NewsScreen()
    screen.load()
    try await waitUntil { screen.count > 0 }
    try await expectFulfillment(of: screen.news(), with: ["rain"])
    protectedUser().cancel()

    let (request, resolver) = Promise<Int>.withResolvers()
    let (first, second) = (request.map { $0 + 1 }, request.map { $0 + 2 })
    first.cancel()
    try await expectCancellation(of: first)
    try expectPending(second)
    request.cancel()
    try await expectCancellation(of: second)
    withExtendedLifetime(resolver) {}
  }

  @Test func using_releasesAfterSuccessAndFailure() async throws {
    try await expectFulfillment(of: using().map { $0.text }, with: "index.html")
    let steps = Recorder<String>()
    let failed = Promise<Int>.using(openConnection(), release: { _ in steps.record("release") }) {
      _ in
      steps.record("use")
      return .rejected(Offline())
    }
    try await expectRejection(of: failed, with: Offline.self)
    #expect(steps.events == ["use", "release"])
  }

  @Test func await_isSharedByTasks_andCancellingTheOnlyOneCancelsThePromise() async throws {
    #expect(try await awaiting() == "Ada")
    let (user, resolver) = Promise<Int>.withResolvers()
    let task = Task { try await user.value }
    let other = Task { try await user.value }
    resolver.fulfill(7)
    #expect(try await task.value == 7)
    #expect(try await other.value == 7)
    #expect(try await user.value == 7)

    let (abandoned, unused) = Promise<Int>.withResolvers()
    let only = Task { try await abandoned.value }
    only.cancel()
    await #expect(throws: CancellationError.self) { try await only.value }
    try await expectCancellation(of: abandoned)
    withExtendedLifetime(unused) {}
  }
}
