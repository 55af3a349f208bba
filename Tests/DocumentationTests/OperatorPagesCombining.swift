import Pledge
import PledgeTesting
import Testing

// The examples of the pages on combinators, and tests of what their diagrams show.

// MARK: All.md

private func gathering() async throws {
  let both = Promise.all(fetchUser(id: 7), fetchNews())
  let pages = Promise.all(["a", "b"].map { downloadPage(from: $0) }, cancellingRest: true)
  let parts = Promise.all(["head": downloadPage(from: "a"), "body": downloadPage(from: "b")])

  _ = try await Promise.all(fetchUser(id: 7), fetchNews(), cancellingRest: true).value
  _ = (both, pages, parts)
}

// MARK: AllConcurrently.md

private func limiting() async throws -> [User] {
  let users = Promise.all(1...100, concurrently: 4) { id in fetchUser(id: id) }
  let loaded = try await concurrentMap(1...100, limit: 4) { id in try await server.user(id: id) }

  _ = Promise.all(1...1000, concurrently: 8) { fetchUser(id: $0) }
  _ = users
  return loaded
}

// MARK: StreamingResults.md

private func streaming(_ names: AsyncStream<String>) async throws -> Set<String> {
  let pages = results(of: ["index.html"], limit: 4) { name in try await download(name) }
  var seen: Set = ["index.html"]
  for try await (name, result) in pages {
    guard case .success(let page) = result else { continue }
    for link in links(of: page) where seen.insert(link).inserted { pages.append(link) }
    print(name)
  }

  for try await page in concurrentMap(names, limit: 4, { name in try await download(name) }) {
    print(page.text)
  }
  _ = results(of: names, limit: 4, { name in try await download(name) })
  return seen
}

// MARK: AllSettled.md

private func settling() async throws {
  let pages = ["a", "b"].map { downloadPage(from: $0) }
  let results = try await Promise.allSettled(pages).value

  for await result in Promise.results(of: pages) {
    print(result)
  }

  _ = results
  _ = Promise.allSettled(pages)
  for await result in Promise.results(of: pages) { print(result) }
}

// MARK: AnyAndRace.md

private let backup = Server()

private func racing(_ mirrors: [Promise<Page>]) async throws {
  let page = Promise.any(downloadPage(from: "mirror-1"), downloadPage(from: "mirror-2"))
  let first = Promise.race(downloadPage(from: "mirror-1"), downloadPage(from: "mirror-2"))
  let user = try await firstToSucceed(
    { try await server.user(id: 7) }, { try await backup.user(id: 7) })

  _ = Promise.any(mirrors)
  _ = fetchNews().timeout(after: .seconds(5))
  _ = (page, first, user)
}

@Suite struct OperatorPagesCombining {
  @Test func all_waitsForEach_andFailsWithTheFirstError() async throws {
    try await gathering()
    let (news, resolver) = Promise<Int>.withResolvers()
    let both = Promise.all(.value(1), news)
    try expectPending(both)
    resolver.fulfill(2)
    try await expectFulfillment(of: both.map { $0 + $1 }, with: 3)

    let (rest, unused) = Promise<Int>.withResolvers()
    let failing = Promise.all([.value(1), .rejected(Offline()), rest], cancellingRest: true)
    try await expectRejection(of: failing, with: Offline.self)
    try await expectCancellation(of: rest)
    withExtendedLifetime(unused) {}
  }

  @Test func concurrently_startsTheNextWhenOneHasEnded_untilOneFails() async throws {
    #expect(try await limiting().count == 100)
    let started = Recorder<Int>()
    let work = (1...3).map { _ in Promise<Int>.withResolvers() }
    let all = Promise.all(0..<3, concurrently: 2) { index in
      started.record(index)
      return work[index].promise
    }
    await started.reaches(2).value
    work[0].resolver.fulfill(0)
    await started.reaches(3).value
    work[1].resolver.fulfill(1)
    work[2].resolver.fulfill(2)
    try await expectFulfillment(of: all, with: [0, 1, 2])

    let few = Recorder<Int>()
    let slow = Promise<Int>.withResolvers()
    let failing = Promise.all(0..<3, concurrently: 2) { index in
      few.record(index)
      return index == 0 ? .rejected(Offline()) : slow.promise
    }
    try await expectRejection(of: failing, with: Offline.self)
    slow.resolver.fulfill(1)
    #expect(!few.events.contains(2))
    let none = Promise.all(0..<3, concurrently: 0) { Promise.value($0) }
    await #expect(throws: PromiseError.self) { try await none.value }
  }

  @Test func streaming_readsEachResult_andAFailureEndsNothing() async throws {
    let (names, more) = AsyncStream<String>.makeStream()
    more.yield("a")
    more.finish()
    #expect(try await streaming(names) == ["index.html", "about.html"])
    let work = (0..<3).map { _ in Promise<Int>.withResolvers() }
    let started = Recorder<Int>()
    let stream = results(of: 0..<3, limit: 2) { number in
      started.record(number)
      return try await work[number].promise.value
    }
    let first = Task { try await stream.next() }
    await started.reaches(2).value
    #expect(started.events.sorted() == [0, 1])
    work[1].resolver.reject(Offline())
    #expect(try await first.value?.input == 1)
    await started.reaches(3).value
    work[0].resolver.fulfill(0)
    #expect(try await stream.next()?.input == 0)
    work[2].resolver.fulfill(2)
    #expect(try await stream.next()?.result.get() == 2)
    #expect(try await stream.next() == nil)
  }

  @Test func allSettled_returnsEachResult_andFailsOnlyIfCancelled() async throws {
    try await settling()
    let results = try await Promise.allSettled([.rejected(Offline()), .value(2)]).value
    #expect((try? results[0].get()) == nil && (try? results[1].get()) == 2)
    let (pending, resolver) = Promise<Int>.withResolvers()
    let all = Promise.allSettled([.value(1), pending])
    all.cancel()
    try await expectCancellation(of: all)
    try await expectCancellation(of: pending)
    withExtendedLifetime(resolver) {}
  }

  @Test func any_ignoresAFailure_andRaceDoesNot() async throws {
    try await racing([.value(Page())])
    let (slow, resolver) = Promise<Int>.withResolvers()
    try await expectFulfillment(of: Promise.any([.rejected(Offline()), .value(2), slow]), with: 2)
    try await expectCancellation(of: slow)
    let none = Promise<Int>.any([.rejected(Offline()), .rejected(Offline())])
    try await expectRejection(of: none, with: AggregateError.self)
    let (loser, other) = Promise<Int>.withResolvers()
    try await expectRejection(of: Promise.race([.rejected(Offline()), loser]), with: Offline.self)
    try await expectCancellation(of: loser)
    await #expect(throws: PromiseError.emptyInput) {
      try await Promise<Int>.any([Promise<Int>]()).value
    }
    withExtendedLifetime((resolver, other)) {}
  }
}
