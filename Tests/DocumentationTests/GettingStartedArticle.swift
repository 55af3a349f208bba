import Pledge
import PledgeTesting
import Testing

// The examples of GettingStarted.md.

private struct Declared {
  func fetchUser(id: Int) -> Promise<User> {
    Promise { try await server.user(id: id) }
  }
}

private func makingPromises() {
  // A value, or an error, that already exists.
  let seven = Promise.value(7)
  let failed = Promise<Int>.rejected(Offline())

  // An asynchronous closure, which runs in its own task.
  let page = Promise { try await download("index.html") }

  // A slow closure, on an executor.
  let checksum = Promise(on: .global) { slowChecksum(of: "index.html") }

  // A function that takes a completion handler.
  let setting = Promise.wrap { readSetting("color", completion: $0) }

  // Anything else: keep the resolver and settle the promise once.
  let (answer, resolver) = Promise<String>.withResolvers()
  resolver.fulfill("yes")

  failed.ignoreErrors()
  _ = (seven, page, checksum, setting, answer)
}

private func chaining() {
  fetchUser(id: 7)
    .get { user in print("found \(user.name)") }
    .then { user in fetchAvatar(of: user) }
    .map { avatar in avatar.byteCount }
    .done { count in print("\(count) bytes") }
    .catch { error in print("no avatar: \(error)") }
}

private func declaringTheResult() {
  fetchUser(id: 7)
    .map { user -> Int in
      let name = user.name
      return name.count
    }
    .done { count in print(count) }
    .ignoreErrors()
}

private struct Refused: Error {}

private struct ReturningEarly {
  func adultAvatar(of user: Promise<User>) -> Promise<Avatar> {
    user.then { user in
      guard user.age >= 18 else { throw Refused() }
      return fetchAvatar(of: user)
    }
  }
}

private func gathering() {
  // All of them, of any types: a tuple.
  Promise.all(fetchUser(id: 7), fetchNews())
    .done { user, news in print("\(user.name) has \(news.count) news") }
    .ignoreErrors()

  // All of them, of one type: an array, in the same order.
  let users = Promise.all([1, 2, 3].map { fetchUser(id: $0) })

  // The same with at most four requests at a time.
  let manyUsers = Promise.all(1...100, concurrently: 4) { fetchUser(id: $0) }

  // The first that succeeds.
  let mirrored = Promise.any(downloadPage(from: "mirror-1"), downloadPage(from: "mirror-2"))

  // The first to settle, fulfilled or rejected.
  let first = Promise.race(downloadPage(from: "mirror-1"), downloadPage(from: "mirror-2"))

  // The result of each: an array of `Result` values. Only cancelling it rejects it.
  let outcomes = Promise.allSettled([1, 2, 3].map { fetchUser(id: $0) })

  _ = (users, manyUsers, mirrored, first, outcomes)
}

private func limiting() {
  let limiter = Limiter(4)
  let pages = ["a", "b", "c"].map { name in limiter.run { downloadPage(from: name) } }

  _ = pages
}

private func mindingTheTime() {
  fetchNews()
    .timeout(after: .seconds(10))
    .delay(.milliseconds(300))
    .done { news in print(news) }
    .catch(only: TimeoutError.self) { error in print("no answer within \(error.duration)") }
    .ignoreErrors()
}

private func retrying() {
  let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200)).withJitter()
  let news = Promise.retry(policy) { fetchNews() }

  _ = news
}

private func guaranteeing() {
  let greeting: Guarantee<String> = fetchUser(id: 7)
    .map { user in "Hello, \(user.name)" }
    .replaceError { _ in "Hello, stranger" }

  _ = greeting
}

private func awaiting() async throws {
  let user = try await fetchUser(id: 7).value

  _ = user
}

private func blocking() throws {
  let user = try fetchUser(id: 7).wait()

  _ = user
}

@Suite struct GettingStartedArticle {
  @Test func anHourOnATestClock_takesNoTime() async throws {
    let clock = TestClock()
    let late = Promise.value("tea").delay(.seconds(3600), clock: clock)
    await clock.run(until: late)
    try await expectFulfillment(of: late, with: "tea")
  }

  @Test func workStartsWhenThePromiseIsMade() async throws {
    let ran = CallCounter()
    let promise = Promise(on: .global) { ran.call() }
    try await waitUntil { !promise.isPending }
    try ran.expectOnce()
  }
}
