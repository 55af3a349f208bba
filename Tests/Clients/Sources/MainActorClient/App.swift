import Pledge

struct UserID: Hashable { var number: Int }

struct User: Comparable {
  var name: String
  var email: String?
  var isActive = true

  static func < (first: User, second: User) -> Bool { first.name < second.name }
}

struct Refused: Error {}

nonisolated struct Tag: Sendable { var text: String }

/// Here, a key path of `User`, which belongs to the main actor, isn't `Sendable`; one of `Tag` is.
nonisolated final class Store: Sendable {
  func names(_ users: Promise<[User]>) -> Promise<[String]> { users.map { $0.map { $0.name } } }
  func texts(_ tags: Promise<[Tag]>) -> Promise<[String]> { tags.map { $0.map(\.text) } }
}

/// It has no attributes: this entire module is isolated to the main actor.
final class App {
  var log: [String] = []
  let users = RequestCoalescer<UserID, User>()
  let limiter = Limiter(2)

  func start() -> Promise<Int> {
    var steps = 0
    return Promise.value("a").get { text in
      MainActor.assertIsolated()
      steps += 1
      self.log.append(text)
    }.then { text in
      steps += 1
      return Promise.value(text + "b")
    }.map { text in
      self.log.append(text)
      return steps
    }
  }

  func fetch(_ id: UserID) -> Promise<User> {
    MainActor.assertIsolated()
    return .value(User(name: "\(id.number)", email: "a@b"))
  }

  func load(_ id: UserID) async throws -> User {
    MainActor.assertIsolated()
    return User(name: "\(id.number)")
  }

  func keyPaths() async throws {
    let id = UserID(number: 7)
    let name = try await fetch(id).map(\.name).value
    let email = try await fetch(id).compactMap(\.email).value
    let names = try await Promise.value([User(name: "b"), User(name: "a")])
      .map { $0.map { $0.name } }.value
    let active = try await Promise.value([User(name: "b")]).map { $0.filter { $0.isActive } }.value
    let sorted = try await Promise.value([User(name: "b"), User(name: "a")])
      .map { $0.sorted { $0 < $1 } }.value
    precondition(sorted.map(\.name) == ["a", "b"])
    let stored = try await Store().names(.value([User(name: "c")])).value
    let texts = try await Store().texts(.value([Tag(text: "d")])).value
    precondition(stored == ["c"] && texts == ["d"])
    precondition(name == "7" && email == "a@b" && names == ["b", "a"] && active.count == 1)
  }

  func operations() async throws {
    let id = UserID(number: 1)
    var attempts = 0
    let user = try await Promise.retry(.fixed(attempts: 2, delay: .zero)) {
      attempts += 1
      if attempts == 1 { throw Refused() }
      return self.fetch(id)
    }.value
    precondition(user.name == "1" && attempts == 2)
    let limited = try await limiter.run { self.fetch(id) }.value
    let shared = try await users.promise(for: id) { self.fetch(id) }.value
    precondition(limited == shared)
    let all = try await Promise.all([id, id], concurrently: 1) { id in self.fetch(id) }.value
    precondition(all.count == 2)
    let used = try await Promise.using(Promise.value(id), release: { _ in self.log.append("end") })
    { self.fetch($0) }.value
    precondition(used == user && log.last == "end")
    let attempt = try await Promise.attempt { self.fetch(id) }.value
    precondition(attempt == user)
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (end, endResolver) = Promise<Void>.withResolvers()
    resolver.onCancel {
      self.log.append("cancelled")
      endResolver.fulfill()
    }
    promise.cancel()
    try await end.timeout(after: .seconds(60)).value
    precondition(log.last == "cancelled")
  }

  func asyncOperations() async throws {
    let id = UserID(number: 2)
    var users: [User] = []
    users.append(try await retry(.fixed(attempts: 2)) { try await self.load(id) })
    users.append(try await withTimeout(.seconds(60)) { try await self.load(id) })
    users.append(try await limiter.perform { try await self.load(id) })
    users.append(try await limiter.run { try await self.load(id) }.value)
    users.append(try await Promise.value(id).asyncMap { try await self.load($0) }.value)
    users += try await Promise.all([id, id], concurrently: 2) { try await self.load($0) }.value
    users += try await concurrentMap([id, id], limit: 2) { try await self.load($0) }
    precondition(users.count == 9 && users.allSatisfy { $0.name == "2" })
    let shared = try await self.users.promise(for: id) { try await self.load(id) }.value
    precondition(shared == users[0])
  }

  func errors() async throws {
    let failed = Promise<Int>.rejected(Refused())
    let replaced = await failed.replaceError { _ in
      self.log.append("replaced")
      return 1
    }.value
    let recovered = try await failed.recover { _ in
      self.log.append("recovered")
      return .value(2)
    }.finally { self.log.append("finally") }.value
    let mapped = await failed.mapError { _ in CancellationError() }.result
    precondition(replaced == 1 && recovered == 2)
    precondition(log.suffix(3) == ["replaced", "recovered", "finally"])
    guard case .failure(is CancellationError) = mapped else { preconditionFailure() }
  }
}

@main struct Main {
  static func main() async throws {
    let app = App()
    let steps = try await app.start().value
    precondition(steps == 2 && app.log == ["a", "ab"])
    try await app.keyPaths()
    try await app.operations()
    try await app.asyncOperations()
    try await app.errors()
    try await Reading().policies()
    print("Main actor client: handlers ran where they were written")
  }
}
