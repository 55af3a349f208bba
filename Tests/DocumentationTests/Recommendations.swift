import Foundation
import Pledge
import PledgeFoundation

#if NIO
  import NIOCore
  import PledgeNIO
#endif

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The code that the tables "Instead of, Write" of the operators' pages recommend; `Articles` compares
// them. They are parts of lines, so they can't be compiled where they stand.

private func creating(_ resolver: Resolver<User>) async throws {
  _ = (Promise.value(7), Promise(on: .global) { slowChecksum(of: "a") })
  _ = Promise.wrap { readSetting("color", completion: $0) }
  resolver.resolve(with: fetchUser(id: 7))
  _ = try await Promise.wrap { readSetting("color", completion: $0) }.value
}

private func chaining(_ path: any KeyPath<User, Int> & Sendable) async throws {
  let request = fetchUser(id: 7)
  _ = request.then { user in fetchAvatar(of: user) }
  _ = request.map { user in user.name }
  _ = request.asyncMap { user in try await server.profile(of: user) }
  _ = request.asyncFinally { await auditLog.flush() }
  _ = request.compactMap { user in user.email }
  _ = request.asVoid()
  _ = request.map { $0.id }
  _ = request.map { $0[keyPath: path] }
  _ = fetchAvatar(of: .guest).map(on: .global) { thumbnail(of: $0) }
  _ = request.done { user in print(user.name) }
  request.watch { print($0) }
  _ = request.get { user in print(user.name) }
  _ = request.tap { print($0) }
  _ = try await fetchUser(id: 7).value
}

private func combining(_ names: AsyncStream<String>, _ mirrors: [Promise<Page>]) async throws {
  let pages = mirrors
  _ = Promise.all(fetchUser(id: 7), fetchNews())
  _ = try await Promise.all(fetchUser(id: 7), fetchNews(), cancellingRest: true).value
  _ = Promise.all(1...1000, concurrently: 8) { fetchUser(id: $0) }
  _ = fetchUsers().then { users in Promise.all(users, concurrently: 4) { fetchAvatar(of: $0) } }
  _ = Promise.allSettled(pages)
  for await result in Promise.results(of: pages) { print(result) }
  _ = results(of: names, limit: 4, { name in try await download(name) })
  _ = Promise.any(mirrors)
}

@MainActor private func handlingErrors(_ spinner: Spinner, _ connection: Connection) {
  let news = fetchNews()
  news.asVoid().catch(only: TimeoutError.self) { _ in print("slow") }.ignoreErrors()
  news.asVoid().catch(only: CancellationError.self) { _ in }.ignoreErrors()
  _ = news.replaceError(only: Offline.self) { _ in [] }
  _ = news.replaceError { _ in [] }
  _ = news.recover(only: Offline.self) { _ in .value([]) }
  _ = fetchUser(id: 7).mapError { error in AccountError(id: 7, cause: error) }
  _ = news.mapResult { result in result }
  news.finally { spinner.hide() }.ignoreErrors()
  _ = connection.get("a").finallyThen { connection.close() }
}

extension Spinner {
  fileprivate func hide() { isVisible = false }
}

private func controllingTime(_ end: ContinuousClock.Instant, _ budget: RetryBudget) {
  _ = Promise.after(.seconds(1))
  _ = fetchNews().timeout(after: .seconds(5))
  _ = fetchNews()
    .deadline(end)
  _ = Promise.retry(.fixed(attempts: 2)) { fetchNews() }
  _ = Promise.retry(.fixed(attempts: 3)) { fetchNews().timeout(after: .seconds(5)) }
  _ = Promise.hedged(delay: .milliseconds(50)) { downloadPage(from: "a") }
  let policies: [RetryPolicy] = [
    .exponential(attempts: 5, from: .milliseconds(200)).withJitter(),
    .fixed(attempts: 3).withBudget(budget),
    .fixed(attempts: 3)
      .retrying { error in !(error is CircuitOpenError) },
    .fixed(attempts: 3)
      .retryingTransientErrors(),
  ]
  _ = policies
}

private func shown(_ name: String, _ latest: LatestOnly<Void>) -> Promise<Void> {
  @Sendable func show(_ page: Page) {}
  return latest.run { downloadPage(from: name).done { page in show(page) } }
}

private func sharing(
  _ limiter: Limiter, _ breaker: CircuitBreaker, _ service: ResiliencePipeline,
  _ pages: RequestCoalescer<String, Page>, _ users: DataLoader<Int, User>, _ scope: PromiseScope
) -> Promise<User> {
  let (name, names, ids) = ("a", ["a"], [7])
  _ = limiter.run { downloadPage(from: "a") }
  _ = Promise.all(names.map { name in limiter.run { downloadPage(from: name) } })
  _ = KeyedLimiter<User> { _ in Limiter(2) }
  _ = breaker.run { fetchNews().timeout(after: .seconds(2)) }
  _ = service.run { fetchNews() }
  _ = Promise.hedged(delay: .milliseconds(50)) { service.run { downloadPage(from: "a") } }
  let latest = LatestOnly<Page>(debounce: .milliseconds(200))
  _ = latest.run { downloadPage(from: name) }
  _ = shown(name, LatestOnly())
  _ = pages.promise(for: name) { downloadPage(from: name) }
  _ = Promise.all(ids.map { id in users.promise(for: id) })
  _ = Promise.using(openConnection(), release: { c in _ = c.close() }) { c in c.get("a") }
  let shared = fetchUser(id: 7)
    .bound(to: scope)
  return shared.uncancellable()
}

private func requesting(
  _ session: URLSession, _ url: URL, _ file: URL, _ counter: ByteCounter,
  _ center: NotificationCenter
) -> [Promise<Void>] {
  [
    session.load(url).asVoid(),
    session.load(url).validate().asVoid(),
    session.download(url, to: file).asVoid(),
    session.stream(url) { data in counter.add(data.count) }.asVoid(),
    center.next(.downloaded).promise,
  ]
}

#if NIO
  private func using(
    _ channel: any Channel, _ loop: any EventLoop, _ future: EventLoopFuture<Page>,
    _ connection: LineConnection
  ) -> [Promise<Page>] {
    let closed = channel.closeFuture.promise
    _ = closed.then { Promise.value(7) }
    let page = future.promise
    _ = page.future(on: loop)
    _ = page.done(on: .eventLoop(loop)) { print($0) }
    return [page.timeout(after: .seconds(2), on: channel.eventLoop)]
  }
#endif
