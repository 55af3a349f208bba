import Pledge
import PledgeTesting
import Testing

// The examples of AsyncAwait.md, and tests of what it says.

func greeting() async throws -> String {
  let user = try await fetchUser(id: 7).value
  return "Hello, \(user.name)"
}

func summary() async throws -> String {
  let user = fetchUser(id: 7)
  let news = fetchNews()
  return try await "\(user.value.name) has \(news.value.count) news"
}

func loadProfile() -> Promise<Profile> {
  Promise {
    let user = try await server.user(id: 7)
    return Profile(name: user.name)
  }
}

private func callingAsyncFunctions() -> Promise<Profile> {
  let profile = fetchUser(id: 7).then { user in
    Promise { try await server.profile(of: user) }
  }

  return profile
}

actor Avatars {
  private var known: [Int: Promise<Avatar>] = [:]

  func avatar(of user: User) -> Promise<Avatar> {
    if let avatar = known[user.id] { return avatar.uncancellable() }
    let avatar = fetchAvatar(of: user)
    known[user.id] = avatar
    return avatar.uncancellable()
  }
}

func names(of ids: [Int]) async throws -> Set<String> {
  try await withThrowingTaskGroup(of: String.self) { group in
    for id in ids {
      let user = fetchUser(id: id)
      group.addTask { try await user.value.name }
    }
    return try await group.reduce(into: []) { names, name in names.insert(name) }
  }
}

func names(of ids: [Int]) -> Promise<Set<String>> {
  Promise.all(ids, concurrently: 8) { id in fetchUser(id: id) }
    .map { users in Set(users.map { user in user.name }) }
}

func cachedAvatar(from avatars: Avatars) -> Promise<Avatar> {
  fetchUser(id: 7).asyncMap { user in try await avatars.avatar(of: user).value }
}

enum Tracing {
  @TaskLocal static var requestID: String?
}

func startTracing() {
  TaskLocals.propagate(Tracing.$requestID)
}

func greeting(in request: String) -> Promise<String> {
  Tracing.$requestID.withValue(request) {
    fetchUser(id: 7).map { user in "\(Tracing.requestID ?? "?"): hello, \(user.name)" }
  }
}

@Suite struct AsyncAwaitArticle {
  @Test func taskLocalValues_followTheChain() async {
    // In a process of its own: the key follows all handlers from here on.
    await #expect(processExitsWith: .success) {
      startTracing()
      let greeting = try await greeting(in: "request 1").value
      #expect(greeting == "request 1: hello, Ada")
    }
  }

  @Test func examples_giveTheirValues() async throws {
    #expect(try await greeting() == "Hello, Ada")
    #expect(try await summary() == "Ada has 1 news")
    #expect(try await loadProfile().value.name == "Ada")
    #expect(try await callingAsyncFunctions().value.name == "Ada")
    #expect(try await Avatars().avatar(of: User()).value.byteCount == 3)
    #expect(try await cachedAvatar(from: Avatars()).value.byteCount == 3)
    let awaited: Set<String> = try await names(of: [1, 2, 3])
    let promised: Promise<Set<String>> = names(of: [1, 2, 3])
    #expect(try await awaited == promised.value)
  }

  @MainActor @Test func asyncClosure_runsInTheIsolationItWasWrittenIn() async throws {
    let promise = Promise {
      await Task.yield()
      return ExecutorProbe.main.isCurrent
    }
    #expect(try await promise.value)
  }

  @Test func asyncClosureThatDoesNotThrow_makesAGuarantee() async {
    let guarantee = Guarantee {
      await Task.yield()
      return 1
    }
    #expect(await guarantee.value == 1)
  }

  private func stream<Element: Sendable>(_ elements: [Element]) -> AsyncStream<Element> {
    AsyncStream { continuation in
      for element in elements { continuation.yield(element) }
      continuation.finish()
    }
  }

  @Test func asynchronousSequences_becomePromises() async throws {
    let (users, visits) = (stream([User(), User()]), stream([1, 2, 3]))
    let visited = Recorder<Int>()
    @Sendable func store(_ visit: Int) -> Promise<Void> {
      visited.record(visit)
      return Promise()
    }
    let lines = stream(["Tea", "Ada"])
    let avatars = Promise.all(users, concurrently: 4) { user in fetchAvatar(of: user) }
    let stored = visits.forEach(concurrently: 4) { visit in store(visit) }
    let all = lines.allValues()
    #expect(try await avatars.value.count == 2)
    try await expectFulfillment(of: stored)
    #expect(visited.events == [1, 2, 3])
    #expect(try await all.value == ["Tea", "Ada"])
  }

  @Test func reader_returnsOneElementAfterAnother() async throws {
    let lines = stream(["Tea", "Ada", "1843"])
    let reader = ElementReader(lines)
    let pair = reader.next().then { title in reader.next().map { author in [title, author] } }

    #expect(try await pair.value == ["Tea", "Ada"])
    let first = ElementReader(lines).next()
    #expect(try await first.value == "1843")
  }

  @Test func boundedAll_takesAnAsyncSequence() async throws {
    let stream = AsyncStream { continuation in
      for id in 1...20 { continuation.yield(id) }
      continuation.finish()
    }
    let users = Promise.all(stream, concurrently: 3) { id in fetchUser(id: id) }
    #expect(try await users.value.map(\.id) == Array(1...20))
  }
}
