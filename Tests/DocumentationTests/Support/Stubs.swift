import Pledge

// What the examples stand on: the functions that, in them, are the reader's own.

struct User: Sendable, Hashable {
  var id = 7
  var name = "Ada"
  var age = 36
  var email: String? = "ada@example.org"
}

struct Avatar: Sendable {
  var byteCount = 3
}

struct Page: Sendable {
  var text = ""
}

struct Profile: Sendable {
  var name = ""
}

struct Offline: Error {}

enum ServerError: Error {
  case notFound
}

struct Server: Sendable {
  func user(id: Int) async throws -> User { User(id: id) }
  func users(ids: [Int]) async throws -> [Int: User] {
    Dictionary(uniqueKeysWithValues: ids.map { ($0, User(id: $0)) })
  }
  func profile(of user: User) async throws -> Profile { Profile(name: user.name) }
}

let server = Server()

func fetchUser(id: Int) -> Promise<User> { .value(User(id: id)) }
func fetchAvatar(of user: User) -> Promise<Avatar> { .value(Avatar()) }
func fetchNews() -> Promise<[String]> { .value(["rain"]) }
func downloadPage(from mirror: String) -> Promise<Page> { .value(Page(text: mirror)) }
func download(_ name: String) async throws -> Page { Page(text: name) }
func links(of page: Page) -> [String] { page.text == "index.html" ? ["about.html"] : [] }
func thumbnail(of avatar: Avatar) -> Avatar { Avatar(byteCount: 1) }
func slowChecksum(of name: String) -> Int { name.utf8.reduce(0) { $0 &+ Int($1) } }

func readSetting(
  _ name: String, completion: @escaping @Sendable (String?, (any Error)?) -> Void
) {
  completion("blue", nil)
}

func legacyLoad(_ completion: @escaping @Sendable (Int) -> Void) {}

struct Connection: Sendable {
  func get(_ name: String) -> Promise<Page> { .value(Page(text: name)) }
  func close() -> Guarantee<Void> { .value(()) }
}

func openConnection() -> Promise<Connection> { .value(Connection()) }

@MainActor
final class Label {
  nonisolated init() {}
  var text = ""
}

struct CrashReporter: Sendable {
  func log(_ text: String) {}
}

let crashReporter = CrashReporter()

struct Loop: Sendable {
  func execute(_ work: @escaping @Sendable () -> Void) { Task { work() } }
}

/// A transfer that never ends by itself.
final class Transfer: Sendable {
  private let completion: @Sendable (Result<Page, any Error>) -> Void

  init(of mirror: String, _ completion: @escaping @Sendable (Result<Page, any Error>) -> Void) {
    self.completion = completion
  }

  func start() {}
  func stop() { completion(.failure(CancellationError())) }
}
