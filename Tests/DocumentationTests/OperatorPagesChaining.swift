import Pledge
import PledgeTesting
import Testing

// The examples of the pages on operators that create and chain promises, and tests of what their
// diagrams show.

func fetchUsers() -> Promise<[User]> { .value([User(id: 1), User(id: 2)]) }

struct AuditLog: Sendable {
  func flush() async {}
}

let auditLog = AuditLog()

// MARK: CreatingPromises.md

private func creating(_ user: User) {
  let page = Promise { try await download("index.html") }
  let checksum = Promise(on: .global) { slowChecksum(of: "index.html") }
  let avatar = Promise.attempt {
    guard user.age >= 18 else { throw ServerError.notFound }
    return fetchAvatar(of: user)
  }

  let others = (
    fetchUser(id: 7), Promise.value(7), Promise(on: .global) { slowChecksum(of: "a") }
  )
  _ = (page, checksum, avatar, others)
}

// MARK: WrappingCallbacks.md

func transferredPage(from mirror: String) -> Promise<Page> {
  Promise { resolver in
    let transfer = Transfer(of: mirror) { result in resolver.resolve(result) }
    resolver.onCancel { transfer.stop() }
    transfer.start()
  }
}

private func readNothing(completion: (Int?, (any Error)?) -> Void) { completion(nil, nil) }

private func wrapping(_ resolver: Resolver<User>) async throws {
  _ = Promise.wrap { readSetting("color", completion: $0) }
  resolver.resolve(with: fetchUser(id: 7))
  _ = try await Promise.wrap { readSetting("color", completion: $0) }.value
}

// MARK: Then.md, Map.md, Done.md

private func chaining() {
  let path: any KeyPath<User, Int> & Sendable = \.id
  let avatar = fetchUser(id: 7).then { user in fetchAvatar(of: user) }

  let address = fetchUser(id: 7)
    .validate { user in user.age >= 18 }
    .compactMap { user in user.email }
    .map { email in email.lowercased() }

  _ = fetchUser(id: 7).map { user in user.name }
  _ = fetchUser(id: 7).asyncMap { user in try await server.profile(of: user) }
  _ = fetchUser(id: 7).compactMap { user in user.email }
  _ = fetchUser(id: 7).asVoid()
  _ = fetchUser(id: 7).map { $0.id }
  _ = fetchUser(id: 7).map { $0[keyPath: path] }
  _ = fetchAvatar(of: .guest).map(on: .global) { thumbnail(of: $0) }
  _ = fetchUser(id: 7).done { user in print(user.name) }
  _ = (avatar, address)
}

@MainActor
final class NameField {
  private(set) var text = ""

  func load() {
    fetchUser(id: 7)
      .done(weak: self) { field, user in field.text = user.name }
      .ignoreErrors()
  }
}

// MARK: GetAndTap.md

private func looking() {
  let request = fetchUser(id: 7)
  request.watch { result in print("user 7: \(result)") }

  let name =
    request
    .get { user in print("found \(user.name)") }
    .map { user in user.name }
    .tap { result in print("ended with \(result)") }

  request.watch { print($0) }
  _ = request.get { user in print(user.name) }
  _ = request.tap { print($0) }
  _ = name
}

// MARK: SequenceOperators.md

private func sequences() -> Promise<Int> {
  let emails = fetchUsers().map { users in users.compactMap(\.email) }
  let avatars = fetchUsers().then { users in Promise.all(users.map { fetchAvatar(of: $0) }) }
  let sum = Promise.value(0).reduce([1, 2, 3]) { sum, id in
    fetchUser(id: id).map { user in sum + user.age }
  }

  _ = fetchUsers().then { users in Promise.all(users, concurrently: 4) { fetchAvatar(of: $0) } }
  _ = fetchUsers().compactMap { users in users.first { $0.age >= 18 } }
  _ = (emails, avatars)
  return sum
}

// MARK: AsyncHandlers.md

private func awaiting() -> Promise<Profile> {
  let profile = fetchUser(id: 7)
    .asyncMap { user in try await server.profile(of: user) }
    .asyncRecover { _ in try await server.profile(of: .guest) }
    .asyncFinally { await auditLog.flush() }

  return profile
}

@Suite struct OperatorPagesChaining {
  @Test func creating_closureThatThrows_rejects() async throws {
    creating(User())
    let page = Promise<Page> { () async throws -> Page in throw Offline() }
    let calls = CallCounter()
    try await expectRejection(of: page.map { _ in calls.call() }, with: Offline.self)
    try calls.expectNever()
    let young = Promise<Avatar>.attempt { throw ServerError.notFound }
    try await expectRejection(of: young, with: ServerError.self)
    let computed = Promise(Result<Int, any Error> { throw Offline() })
    try await expectRejection(of: computed, with: Offline.self)
  }

  @Test func wrapping_handlerSettles_andDroppedResolverRejects() async throws {
    let setting = Promise.wrap { readSetting("color", completion: $0) }
    try await expectFulfillment(of: setting, with: "blue")
    let never = Promise<Int> { resolver in legacyLoad { _ in _ = resolver } }
    try await expectRejection(of: never, with: BrokenPromiseError.self)
    let neither = Promise.wrap { readNothing(completion: $0) }
    try await expectRejection(of: neither, with: PromiseError.noValueAndNoError)
    let page = transferredPage(from: "mirror")
    page.cancel()
    try await expectCancellation(of: page)
    let (user, resolver) = Promise<User>.withResolvers()
    try await wrapping(resolver)
    try await expectFulfillment(of: user.map { $0.id }, with: 7)
  }

  @Test func then_waitsForTheSecondStep() async throws {
    chaining()
    let (second, resolver) = Promise<Avatar>.withResolvers()
    let entered = Recorder<Void>()
    let avatar = fetchUser(id: 7).then { _ in
      entered.record(())
      return second
    }
    await entered.reaches(1).value
    try expectPending(avatar)
    resolver.reject(Offline())
    let calls = CallCounter()
    try await expectRejection(of: avatar.done { _ in calls.call() }, with: Offline.self)
    try calls.expectNever()
  }

  @Test func map_passesValuesOn_andCompactMapRejectsNil() async throws {
    let user = fetchUser(id: 7).validate { $0.age >= 18 }
    try await expectFulfillment(of: user.compactMap { $0.email }, with: "ada@example.org")
    let without = Promise.value(User(email: nil)).compactMap { $0.email }
    try await expectRejection(of: without, with: PromiseError.noValue)
    let child = Promise.value(User(age: 3)).validate { $0.age >= 18 }
    try await expectRejection(of: child, with: PromiseError.validationFailed)
  }

  @Test @MainActor func done_usesTheValue_andCanThrow() async throws {
    let field = NameField()
    field.load()
    try await waitUntil { !field.text.isEmpty }
    #expect(field.text == "Ada")
    try await expectRejection(
      of: fetchUser(id: 7).done { _ in throw Offline() }, with: Offline.self)

    var owner: NameField? = NameField()
    let (user, resolver) = Promise<User>.withResolvers()
    let calls = CallCounter()
    let done = user.done(weak: try #require(owner)) { _, _ in calls.call() }
    owner = nil
    resolver.fulfill(User())
    try await expectCancellation(of: done)
    try calls.expectNever()
  }

  @Test func tap_passesOn_andWatchSeesTheCancellation() async throws {
    looking()
    try await expectFulfillment(of: Promise.value(7).tap { _ in }, with: 7)
    let (request, resolver) = Promise<User>.withResolvers()
    let logged = Recorder<Bool>()
    request.watch { result in
      if case .failure(let error) = result { logged.record(error is CancellationError) }
    }
    request.map { $0.name }.cancel()
    await logged.reaches(1).value
    #expect(logged.events == [true] && request.isCancelled)
    withExtendedLifetime(resolver) {}
  }

  @Test func sequences_areTransformedInsideMap() async throws {
    try await expectFulfillment(of: sequences(), with: 108)
  }

  @Test func asyncMap_isWaitedFor_andCancelledAtOnce() async throws {
    try await expectFulfillment(of: awaiting().map { $0.name }, with: "Ada")
    let (gate, resolver) = Guarantee<Void>.withResolvers()
    let entered = Recorder<Void>()
    let ended = Recorder<Void>()
    let saved = fetchUser(id: 7).asyncMap { _ in
      entered.record(())
      await gate.value  // Ignores the cancellation of its task.
      ended.record(())
    }
    await entered.reaches(1).value
    saved.cancel()
    try await expectCancellation(of: saved)
    #expect(ended.events.isEmpty)
    resolver.fulfill()
    await ended.reaches(1).value
  }
}
