import Pledge
import PledgeTesting
import Testing

// The examples of Policies.md.

private func retrying() {
  let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200))
    .withJitter()
    .retrying { error in error is Offline }
  let news = Promise.retry(policy) { fetchNews() }
  news.ignoreErrors()
}

private func deadlines() -> RetryPolicy {
  var patient = RetryPolicy.fixed(attempts: 10, delay: .seconds(1))
    .observed { attempt in print(attempt) }
  patient.attemptTimeout = .seconds(5)
  patient.deadline = .seconds(30)
  return patient
}

private func budgets() -> RetryPolicy {
  let budget = RetryBudget(capacity: 10, tokensPerSuccess: 0.1)
  let careful = RetryPolicy.fixed(attempts: 3).withBudget(budget)
  return careful
}

private func hedging() {
  let page = Promise.hedged(delay: .milliseconds(50)) { downloadPage(from: "mirror-1") }
  page.ignoreErrors()

  let hedges = RetryBudget(capacity: 10, tokensPerSuccess: 0.05)
  let news = Promise.hedged(delay: .milliseconds(50), budget: hedges) { fetchNews() }
  news.ignoreErrors()
}

private func limiting(_ user: User) {
  let limiter = Limiter(4, rate: .init(10, per: .seconds(1)), queueCapacity: 100)
  let avatar = limiter.run(priority: 1) { fetchAvatar(of: user) }
  limiter.limit = 8
  avatar.ignoreErrors()
}

private func limitingEach() {
  let perHost = KeyedLimiter<String> { _ in Limiter(6) }
  let logo = perHost.limiter(for: "mirror-1").run { downloadPage(from: "mirror-1/logo") }

  let adaptive = Limiter(adaptive: 4...400, queueCapacity: 20)
  let front = adaptive.run { downloadPage(from: "mirror-2") }
  _ = (logo, front)
}

private func breaking() -> (CircuitBreaker, RetryPolicy) {
  let breaker = CircuitBreaker(
    .failureRate(0.5, inLast: .seconds(10), minimumCalls: 20), openDuration: .seconds(5),
    observer: { state in print("news service: \(state)") })
  let headlines = breaker.run { fetchNews().timeout(after: .seconds(2)) }
  _ = headlines

  var patient = RetryPolicy.fixed(attempts: 3)
  patient.requestedDelay = { error in (error as? CircuitOpenError)?.retryAfter }
  return (breaker, patient)
}

private func combining(
  _ careful: RetryPolicy, _ adaptive: Limiter, _ breaker: CircuitBreaker
) async throws -> String {
  let service = ResiliencePipeline(
    .retry(careful), .limiter(adaptive), .circuitBreaker(breaker), .timeout(.seconds(2)))
  let text = try await service.perform { try await download("index.html") }.text
  return text
}

private enum Coalescing {
  static func making() -> Int {
    let users = RequestCoalescer<Int, User>()

    func user(id: Int) -> Promise<User> {
      users.promise(for: id) { fetchUser(id: id) }
    }
    func loggedUser(id: Int) -> Promise<User> {
      users.promise(for: id) { fetchUser(id: id).tap { result in print("\(id): \(result)") } }
    }
    user(id: 3).ignoreErrors()
    loggedUser(id: 4).ignoreErrors()
    return users.count
  }

  static func caching() -> Int {
    let avatars = RequestCoalescer<User, Avatar>(
      caching: .init(lifetime: .seconds(60), staleLifetime: .seconds(600), capacity: 100))
    return avatars.count
  }
}

private func batching() -> Promise<[User]> {
  let people = DataLoader<Int, User>(maxBatchSize: 100, delay: .milliseconds(2)) { ids in
    try await server.users(ids: ids).mapValues { user in .success(user) }
  }
  let authors = Promise.all([7, 8, 7].map { id in people.promise(for: id) })
  return authors
}

@MainActor
final class Search {
  private let latest = LatestOnly<[String]>(debounce: .milliseconds(300))
  private(set) var hits: [String] = []

  func textChanged(to text: String) {
    latest.run { fetchNews() }
      .done { hits in self.hits = hits }
      .ignoreErrors()
  }
}

@MainActor
final class Feed {
  private let scope = PromiseScope()
  private(set) var items: [String] = []

  func reload() {
    fetchNews()
      .bound(to: scope)
      .done(weak: self) { feed, items in feed.items = items }
      .ignoreErrors()
  }
}

func crawl(_ names: [String], for limit: Duration, report: Recorder<String>) async {
  await withPromiseScope { scope in
    let pages = names.map { name in
      downloadPage(from: name)
        .tap { result in report.record("\(name): \(result)") }
        .bound(to: scope)
    }
    _ = await Promise.allSettled(pages).timeout(after: limit).result
  }
  report.record("end")
}

private func resources() -> Promise<Page> {
  let index = Promise.using(openConnection(), release: { connection in _ = connection.close() }) {
    connection in connection.get("index.html")
  }
  return index
}

func firstGoodPage(of mirrors: [String]) async -> Page? {
  for await result in Promise.results(of: mirrors.map { downloadPage(from: $0) }) {
    if case .success(let page) = result { return page }
  }
  return nil
}

private struct Refusal: Error {}

@Suite struct PoliciesArticle {
  @Test func theRetryPolicies_areAsWritten() async {
    #expect(deadlines().attemptTimeout == .seconds(5) && deadlines().deadline == .seconds(30))
    // Ten retries for two each, of seven calls that fail.
    let policy = budgets()
    var attempts = 0
    for _ in 0..<7 {
      try? await retry(policy) {
        attempts += 1
        throw Refusal()
      }
    }
    #expect(attempts == 7 + 10)
  }

  @Test func coalescers_areAsWritten() {
    #expect(Coalescing.making() <= 2)
    #expect(Coalescing.caching() == 0)
  }

  @Test @MainActor func feed_reloads() async throws {
    let feed = Feed()
    feed.reload()
    try await waitUntil { !feed.items.isEmpty }
    #expect(feed.items == ["rain"])
  }

  @Test func crawl_reportsEachAddress() async {
    let report = Recorder<String>()
    await crawl(["a", "b"], for: .seconds(60), report: report)
    #expect(report.events.count == 3 && report.events.last == "end")
  }

  @Test func resource_isUsed() async throws {
    #expect(try await resources().value.text == "index.html")
    #expect(await firstGoodPage(of: ["a"])?.text == "a")
    retrying()
    hedging()
    limiting(.guest)
  }
}
