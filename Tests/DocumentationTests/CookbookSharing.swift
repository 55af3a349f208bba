import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md that share, limit and order work, each with a test in virtual time.

// MARK: cache
final class UserCache: Sendable {
  private let users: RequestCoalescer<Int, User>
  private let load: @Sendable (Int) -> Promise<User>

  init(
    clock: any Clock<Duration> = ContinuousClock(),
    load: @escaping @Sendable (Int) -> Promise<User>
  ) {
    users = RequestCoalescer(caching: .init(lifetime: .seconds(60), capacity: 100), clock: clock)
    self.load = load
  }

  func user(id: Int) -> Promise<User> {
    users.promise(for: id) { load(id) }
  }
}

// MARK: stale
func makeRates(clock: any Clock<Duration>) -> RequestCoalescer<String, Double> {
  RequestCoalescer(
    caching: .init(lifetime: .seconds(60), staleLifetime: .seconds(3600)), clock: clock)
}

// MARK: search
@MainActor
final class SearchField {
  private let latest: LatestOnly<[String]>
  private let search: @Sendable (String) -> Promise<[String]>
  private(set) var hits: [String] = []
  private(set) var showsSpinner = false

  init(
    clock: any Clock<Duration> = ContinuousClock(),
    search: @escaping @Sendable (String) -> Promise<[String]>
  ) {
    latest = LatestOnly(debounce: .milliseconds(300), clock: clock)
    self.search = search
  }

  func textChanged(to text: String) {
    guard !text.isEmpty else {
      latest.cancel()
      hits = []
      return
    }
    showsSpinner = true
    latest.run { [search] in search(text) }
      .done { hits in self.hits = hits }
      .finally { self.showsSpinner = self.latest.isRunning }
      .ignoreErrors()
  }
}

// MARK: token
struct Unauthorized: Error {}

@MainActor
final class Session {
  private let signIn: @Sendable () -> Promise<String>
  private var token: Promise<String>?

  init(signIn: @escaping @Sendable () -> Promise<String>) { self.signIn = signIn }

  func send<Answer: Sendable>(
    _ request: @escaping @Sendable (_ token: String) -> Promise<Answer>
  ) -> Promise<Answer> {
    let used = currentToken()
    return used.uncancellable().then(request)
      .recover(only: Unauthorized.self) { _ in
        // Several requests can fail with the same token. The first one replaces it.
        if self.token == used { self.token = nil }
        return self.currentToken().uncancellable().then(request)
      }
  }

  private func currentToken() -> Promise<String> {
    if let token { return token }
    let token = signIn()
    self.token = token
    // A failed sign-in is attempted again by the next request.
    token.catch { _ in
      if self.token == token { self.token = nil }
    }
    return token
  }
}

// MARK: upload
final class UploadQueue: Sendable {
  private let limiter = Limiter(2, queueCapacity: 1_000)
  private let clock: any Clock<Duration>
  private let send: @Sendable (String) -> Promise<Void>

  init(
    clock: any Clock<Duration> = ContinuousClock(),
    send: @escaping @Sendable (String) -> Promise<Void>
  ) {
    self.clock = clock
    self.send = send
  }

  func upload(_ file: String, isUrgent: Bool = false) -> Promise<Void> {
    limiter.run(priority: isUrgent ? 1 : 0) { [clock, send] in
      Promise.retry(.fixed(attempts: 3, delay: .seconds(1)), clock: clock) { send(file) }
    }
  }

  func pause() { limiter.pause() }
  func resume() { limiter.resume() }

  /// Returns a promise that is fulfilled when nothing is left to upload.
  func idle() -> Promise<Void> { limiter.idle() }
}

// MARK: concurrency
func thumbnails(
  of names: [String], load: @escaping @Sendable (String) -> Promise<Avatar>
) -> Promise<[Avatar]> {
  Promise.all(names, concurrently: 4) { name in load(name) }
}

// MARK: order
func runMigrations(
  _ migrations: [String], run: @escaping @Sendable (String) -> Promise<Void>
) -> Promise<Void> {
  Promise.all(migrations, concurrently: 1) { migration in run(migration) }.asVoid()
}

// MARK: rate
func makeLimiter(clock: any Clock<Duration> = ContinuousClock()) -> Limiter {
  Limiter(4, rate: .init(10, per: .seconds(1)), clock: clock)
}

// MARK: ready
final class Library: Sendable {
  private let connection: Promise<Connection>

  init(open: () -> Promise<Connection>) { connection = open() }

  func page(_ name: String) -> Promise<Page> {
    connection.uncancellable().then { connection in connection.get(name) }
  }
}

// MARK: batches
struct Comment: Sendable {
  var authorID: Int
  var text: String
}

func lines(
  of comments: [Comment], users: DataLoader<Int, User>
) -> Promise<[String]> {
  Promise.all(
    comments.map { comment in
      users.promise(for: comment.authorID).map { user in "\(user.name): \(comment.text)" }
    })
}
// MARK: end

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
