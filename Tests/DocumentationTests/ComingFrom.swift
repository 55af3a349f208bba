import Pledge
import PledgeTesting
import Testing

#if NIO
  // Has a protocol named `Resolver`.
  import NIOPosix
#endif

// The examples of the "Coming from …" pages, of AntiPatterns.md and of WhichOperator.md.

private func showHits(_ hits: [String]) {}
private func showError(_ error: any Error) {}

// MARK: combine-chain
@MainActor
final class Titles {
  private let scope = PromiseScope()
  private(set) var title = ""

  func load(_ user: Promise<User>) {
    user
      .map { user in user.name }
      .timeout(after: .seconds(5))
      .bound(to: scope)
      .done(weak: self) { titles, name in titles.title = name }
      .catch { [weak self] error in self?.title = "Nobody" }
  }
}

// MARK: combine-future
func fetchColor() -> Promise<String> {
  Promise.wrap { readSetting("color", completion: $0) }
}

// MARK: combine-zip
func userAndNews() -> Promise<(User, [String])> {
  Promise.all(fetchUser(id: 7), fetchNews())
}

// MARK: combine-retry
func newsWithRetry() -> Promise<[String]> {
  Promise.retry(.fixed(attempts: 3, delay: .seconds(1))) { fetchNews() }
}

// MARK: combine-stream
func newsUpdates(clock: any Clock<Duration>) -> AsyncStream<[String]> {
  AsyncStream { continuation in
    let task = Task {
      while !Task.isCancelled {
        if let news = try? await fetchNews().value { continuation.yield(news) }
        try? await clock.sleep(for: .seconds(60))
      }
    }
    continuation.onTermination = { _ in task.cancel() }
  }
}

// MARK: nio-chain
func nameLength(id: Int) -> Promise<Int> {
  fetchUser(id: id)
    .then { user in fetchAvatar(of: user) }
    .map(on: .immediate) { avatar in avatar.byteCount }
}

// MARK: nio-promise
func makeAnswer() -> (Promise<Int>, Pledge.Resolver<Int>) {
  let (promise, resolver) = Promise<Int>.withResolvers()
  return (promise, resolver)
}

// MARK: nio-all
func everyone(ids: [Int]) -> (Promise<[User]>, Promise<[Result<User, any Error>]>) {
  let users = ids.map(fetchUser)
  return (Promise.all(users), Promise.allSettled(users))
}

// MARK: js-chain
func avatarSize(id: Int) -> Promise<Int> {
  fetchUser(id: id)
    .then { user in fetchAvatar(of: user) }  // the closure returns a promise
    .map { avatar in avatar.byteCount }  // the closure returns a value
    .recover { error in .value(0) }
    .finally { print("done") }
}

// MARK: js-resolvers
func deferredAnswer() -> Promise<String> {
  let (promise, resolver) = Promise<String>.withResolvers()
  legacyLoad { number in resolver.fulfill("\(number)") }
  return promise
}

// MARK: js-combinators
func combinators(_ pages: [Promise<Page>]) -> [Promise<Void>] {
  [
    Promise.all(pages).asVoid(),
    Promise.allSettled(pages).asVoid(),
    Promise.any(pages).asVoid(),
    Promise.race(pages).asVoid(),
  ]
}

// MARK: js-abort
func abortable() -> Promise<Page> {
  let page = downloadPage(from: "mirror-1")
  page.cancel()
  return page
}

// MARK: kotlin-async
func total() async throws -> Int {
  let user = fetchUser(id: 7)
  let news = fetchNews()
  return try await user.value.age + news.value.count
}

// MARK: kotlin-deferred
func deferredPair() -> Promise<Int> {
  Promise.all(fetchUser(id: 7), fetchNews(), cancellingRest: true)
    .map { user, news in user.age + news.count }
}

// MARK: kotlin-supervisor
func independent(_ pages: [Promise<Page>]) -> Promise<[Page]> {
  Promise.allSettled(pages).map { results in results.compactMap { try? $0.get() } }
}

// MARK: kotlin-scope
@MainActor
final class UserModel {
  private let scope = PromiseScope()
  private(set) var name = ""

  func load() {
    fetchUser(id: 7).bound(to: scope)
      .done(weak: self) { model, user in model.name = user.name }
      .ignoreErrors()
  }
}

// MARK: async-shared
actor Thumbnails {
  private let avatars = RequestCoalescer<User, Avatar>()

  func avatar(of user: User) async throws -> Avatar {
    try await avatars.value(for: user) { try await fetchAvatar(of: user).value }
  }
}

// MARK: async-timeout
func pageOrTimeout() async throws -> Page {
  try await withTimeout(.seconds(30)) { try await download("index.html") }
}

// MARK: async-group
func pages(of names: [String]) async throws -> [Page] {
  try await concurrentMap(names, limit: 4) { name in try await download(name) }
}

// MARK: async-button
@MainActor
final class Button {
  private(set) var label = ""

  func tapped() {
    fetchUser(id: 7)
      .done { user in self.label = user.name }
      .catch { error in self.label = "\(error)" }
  }
}

// MARK: anti-nesting
func avatarBytes() -> Promise<Int> {
  fetchUser(id: 7)
    .then { user in fetchAvatar(of: user) }
    .map { avatar in avatar.byteCount }
}

// MARK: anti-wrapper
func userName() -> Promise<String> {
  fetchUser(id: 7).map { user in user.name }
}

// MARK: anti-void
func loadAll() -> Promise<Void> {
  fetchUser(id: 7).then { user in fetchAvatar(of: user).asVoid() }
}

// MARK: anti-shared
func sharedUser() -> Promise<User> {
  let user = fetchUser(id: 7)
  return user.uncancellable()
}

// MARK: anti-logging
func loggedNews() -> Promise<[String]> {
  fetchNews().tap { result in print(result) }
}

// MARK: anti-unbounded
func allPages(_ names: [String]) -> Promise<[Page]> {
  Promise.all(names, concurrently: 8) { name in downloadPage(from: name) }
}

// MARK: anti-timeout
func patientNews() -> Promise<[String]> {
  Promise.retry(.fixed(attempts: 3, delay: .seconds(1))) {
    fetchNews().timeout(after: .seconds(2))
  }
}

// MARK: anti-recover
func optionalNews() -> Promise<[String]> {
  fetchNews().replaceError(only: Offline.self) { _ in [] }
}

// MARK: end

@Suite struct ComingFrom {
  @Test func examples_giveWhatTheyPromise() async throws {
    try await expectFulfillment(of: fetchColor(), with: "blue")
    #expect(try await userAndNews().value.1 == ["rain"])
    try await expectFulfillment(of: newsWithRetry(), with: ["rain"])
    try await expectFulfillment(of: nameLength(id: 7), with: 3)
    try await expectFulfillment(of: avatarSize(id: 7), with: 3)
    try await expectFulfillment(of: avatarBytes(), with: 3)
    try await expectFulfillment(of: userName(), with: "Ada")
    try await expectFulfillment(of: loadAll())
    try await expectFulfillment(of: deferredPair(), with: 37)
    try await expectFulfillment(of: optionalNews(), with: ["rain"])
    try await expectFulfillment(of: loggedNews(), with: ["rain"])
    try await expectFulfillment(of: patientNews(), with: ["rain"])
    #expect(try await total() == 37)
    #expect(try await pageOrTimeout().text == "index.html")
    #expect(try await pages(of: ["a", "b"]).map(\.text) == ["a", "b"])
    #expect(try await allPages(["a", "b"]).value.map(\.text) == ["a", "b"])
    #expect(try await Thumbnails().avatar(of: User()).byteCount == 3)
    let mixed = [downloadPage(from: "a"), .rejected(Offline())]
    #expect(try await independent(mixed).value.count == 1)
    for promise in combinators([downloadPage(from: "a")]) {
      try await expectFulfillment(of: promise)
    }
    #expect(try await everyone(ids: [1, 2]).0.value.count == 2)
  }

  @Test func resolvers_settleTheirPromises() async throws {
    let (promise, resolver) = makeAnswer()
    resolver.fulfill(1)
    try await expectFulfillment(of: promise, with: 1)
    // `legacyLoad` drops its completion handler.
    try await expectRejection(of: deferredAnswer(), with: BrokenPromiseError.self)
    _ = abortable()
  }

  @Test func updates_comeEveryMinute() async throws {
    let clock = TestClock()
    var updates = newsUpdates(clock: clock).makeAsyncIterator()
    #expect(await updates.next() == ["rain"])
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(60))
    #expect(await updates.next() == ["rain"])
  }

  @Test func sharedUser_isNotCancelledByOneConsumer() async throws {
    let user = sharedUser()
    user.cancel()
    #expect(try await sharedUser().value.id == 7)
  }

  @Test @MainActor func titles_cancelTheirWork_whenTheyAreDeallocated() async throws {
    let (user, resolver) = Promise<User>.withResolvers()
    var titles: Titles? = Titles()
    titles?.load(user)
    titles = nil
    #expect(user.isCancelled)
    withExtendedLifetime(resolver) {}
  }

  @Test @MainActor func models_showWhatTheyLoad() async throws {
    let (titles, model, button) = (Titles(), UserModel(), Button())
    titles.load(fetchUser(id: 7))
    model.load()
    button.tapped()
    try await waitUntil {
      !titles.title.isEmpty && !model.name.isEmpty && !button.label.isEmpty
    }
    #expect([titles.title, model.name, button.label] == ["Ada", "Ada", "Ada"])
  }
}
