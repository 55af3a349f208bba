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

// The code that the tables "Instead of, Write" of the operators' pages recommend and no example
// contains; `Articles` compares them. They are parts of lines, which can't be compiled as they are.

private func creating(_ resolver: Resolver<User>) async throws {
  _ = (Promise.value(7), Promise(on: .global) { slowChecksum(of: "a") })
  resolver.resolve(with: fetchUser(id: 7))
  _ = try await Promise.wrap { readSetting("color", completion: $0) }.value
}

private func chaining(_ path: any KeyPath<User, Int> & Sendable) {
  let request = fetchUser(id: 7)
  _ = request.map { $0.id }
  _ = request.map { $0[keyPath: path] }
  _ = fetchAvatar(of: .guest).map(on: .global) { thumbnail(of: $0) }
  request.watch { print($0) }
  _ = request.get { user in print(user.name) }
  _ = request.tap { print($0) }
}

private func combining(
  _ names: AsyncStream<String>, _ mirrors: [Promise<Page>], _ pages: [Promise<Page>]
) async throws {
  _ = try await Promise.all(fetchUser(id: 7), fetchNews(), cancellingRest: true).value
  _ = Promise.all(1...1000, concurrently: 8) { fetchUser(id: $0) }
  _ = fetchUsers().then { users in Promise.all(users, concurrently: 4) { fetchAvatar(of: $0) } }
  for await result in Promise.results(of: pages) { print(result) }
  _ = results(of: names, limit: 4, { name in try await download(name) })
  _ = Promise.any(mirrors)
}

@MainActor private func handlingErrors(_ spinner: Spinner) {
  let news = fetchNews()
  news.asVoid().catch(only: TimeoutError.self) { _ in print("slow") }.ignoreErrors()
  news.asVoid().catch(only: CancellationError.self) { _ in }.ignoreErrors()
  _ = news.replaceError { _ in [] }
  _ = news.recover(only: Offline.self) { _ in .value([]) }
  _ = fetchUser(id: 7).mapError { error in AccountError(id: 7, cause: error) }
  _ = news.mapResult { result in result }
  news.finally { spinner.hide() }.ignoreErrors()
}

extension Spinner {
  fileprivate func hide() { isVisible = false }
}

private func controllingTime() -> RetryPolicy {
  _ = Promise.retry(.fixed(attempts: 2)) { fetchNews() }
  _ = Promise.retry(.fixed(attempts: 3)) { fetchNews().timeout(after: .seconds(5)) }
  _ = Promise.hedged(delay: .milliseconds(50)) { downloadPage(from: "a") }
  return .fixed(attempts: 3)
    .retrying { error in !(error is CircuitOpenError) }
}

private func shown(_ name: String, _ latest: LatestOnly<Void>) -> Promise<Void> {
  @Sendable func show(_ page: Page) {}
  return latest.run { downloadPage(from: name).done { page in show(page) } }
}

private func sharing(
  _ limiter: Limiter, _ service: ResiliencePipeline, _ pages: RequestCoalescer<String, Page>,
  _ users: DataLoader<Int, User>
) -> Promise<User> {
  let (name, names, ids) = ("a", ["a"], [7])
  _ = limiter.run { downloadPage(from: "a") }
  _ = Promise.all(names.map { name in limiter.run { downloadPage(from: name) } })
  _ = KeyedLimiter<User> { _ in Limiter(2) }
  _ = service.run { fetchNews() }
  _ = Promise.hedged(delay: .milliseconds(50)) { service.run { downloadPage(from: "a") } }
  let latest = LatestOnly<Page>(debounce: .milliseconds(200))
  _ = latest.run { downloadPage(from: name) }
  _ = shown(name, LatestOnly())
  _ = pages.promise(for: name) { downloadPage(from: name) }
  _ = Promise.all(ids.map { id in users.promise(for: id) })
  _ = Promise.using(openConnection(), release: { c in _ = c.close() }) { c in c.get("a") }
  let shared = fetchUser(id: 7)
  return shared.uncancellable()
}

private func requesting(
  _ session: URLSession, _ url: URL, _ file: URL, _ counter: ByteCounter
) -> [Promise<Void>] {
  [
    session.load(url).asVoid(),
    session.load(url).validate().asVoid(),
    session.download(url, to: file).asVoid(),
    session.stream(url) { data in counter.add(data.count) }.asVoid(),
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
