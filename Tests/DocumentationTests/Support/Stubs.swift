import Foundation
import Observation
import Pledge
import PledgeTesting

#if NIO
  import NIOCore
#endif

// What the examples stand on: the functions that, in them, are the reader's own.

struct User: Sendable, Hashable {
  var id = 7
  var name = "Ada"
  var age = 36
  var email: String? = "ada@example.org"
}

extension User { static var guest: User { User(id: 0, name: "guest") } }

struct Avatar: Sendable { var byteCount = 3 }

struct Page: Sendable { var text = "" }

struct Profile: Sendable { var name = "" }

struct Offline: Error {}
struct Refused: Error {}

enum ServerError: Error { case notFound }

struct AccountError: Error {
  var id: Int
  var cause: any Error
}

struct Server: Sendable {
  func user(id: Int) async throws -> User { User(id: id) }
  func users(ids: [Int]) async throws -> [Int: User] {
    Dictionary(uniqueKeysWithValues: ids.map { ($0, User(id: $0)) })
  }
  func profile(of user: User) async throws -> Profile { Profile(name: user.name) }
}

let server = Server()
let backup = Server()

func fetchUser(id: Int) -> Promise<User> { .value(User(id: id)) }
func fetchUsers() -> Promise<[User]> { .value([User(id: 1), User(id: 2)]) }
func loadUser(id: Int) async throws -> User { User(id: id) }
func loadPage(of user: User, number: Int) async throws -> Page { Page() }
func openProfile() -> Promise<Profile> { .value(Profile()) }
func openArchive() -> Promise<Page> { .rejected(Offline()) }
func fetchAvatar(of user: User) -> Promise<Avatar> { .value(Avatar()) }
func fetchNews() -> Promise<[String]> { .value(["rain"]) }
func downloadPage(from mirror: String) -> Promise<Page> { .value(Page(text: mirror)) }
func download(_ name: String) async throws -> Page { Page(text: name) }
func links(of page: Page) -> [String] { page.text == "index.html" ? ["about.html"] : [] }
func thumbnail(of avatar: Avatar) -> Avatar { Avatar(byteCount: 1) }
func slowChecksum(of name: String) -> Int { name.utf8.reduce(0) { $0 &+ Int($1) } }

func readSetting(_ name: String, completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
  completion("blue", nil)
}

func legacyLoad(_ completion: @escaping @Sendable (Int) -> Void) {}

struct Connection: Sendable {
  func get(_ name: String) -> Promise<Page> { .value(Page(text: name)) }
  func close() -> Guarantee<Void> { .value(()) }
}

func openConnection() -> Promise<Connection> { .value(Connection()) }

@MainActor final class Label {
  nonisolated init() {}
  var text = ""
}

struct CrashReporter: Sendable { func log(_ text: String) {} }

let crashReporter = CrashReporter()

struct AuditLog: Sendable { func flush() async {} }

let auditLog = AuditLog()

/// A class that isn't `Sendable`.
final class Draft {
  private(set) var text = ""
  func append(_ line: String) { text += line }
}

struct Loop: Sendable { func execute(_ work: @escaping @Sendable () -> Void) { Task { work() } } }

/// A transfer that never ends by itself.
final class Transfer: Sendable {
  private let completion: @Sendable (Result<Page, any Error>) -> Void

  init(of mirror: String, _ completion: @escaping @Sendable (Result<Page, any Error>) -> Void) {
    self.completion = completion
  }

  func start() {}
  func stop() { completion(.failure(CancellationError())) }
}

/// A request of a library that knows nothing of promises.
final class LegacyRequest: Sendable {
  private let events = Recorder<String>()
  private let completion: @Sendable (String?, (any Error)?) -> Void

  init(completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
    self.completion = completion
  }

  var isAborted: Bool { events.events == ["abort"] }
  func abort() { events.record("abort") }
  func answer(_ text: String) { completion(text, nil) }
}

@MainActor protocol LocatorDelegate: AnyObject {
  func locator(_ locator: Locator, didFind place: String)
  func locator(_ locator: Locator, didFail error: any Error)
}

@MainActor final class Locator {
  weak var delegate: (any LocatorDelegate)?
  private(set) var isRunning = false
  func start() { isRunning = true }
  func stop() { isRunning = false }
}

struct SharedImages {
  private let images = RequestCoalescer<String, [UInt8]>(caching: .init())

  func image(_ name: String) -> Promise<[UInt8]> { images.promise(for: name) { fetchFile(name) } }
}

let sharedImages = SharedImages()

func fetchFile(_ name: String) -> Promise<[UInt8]> {
  Promise.value(name).map(on: .global) { _ in [1, 2, 3] }
}

// MARK: PledgeFoundation

struct Person: Decodable, Sendable { var name: String }

final class ByteCounter: Sendable {
  private let counts = Recorder<Int>()
  var total: Int { counts.events.reduce(0, +) }
  func add(_ count: Int) { counts.record(count) }
}

struct Chapter: Sendable {
  var pageCount: Int64
  func typeset() -> Promise<Int> { .value(Int(pageCount)) }
}

extension Notification.Name { static let downloaded = Notification.Name("downloaded") }

@Observable @MainActor final class Model { var title = "" }

/// Waits until the handlers that wait for the main actor now have run.
@MainActor func endOfMainQueue() async throws { try await Promise.value(()).done {}.value }

#if NIO
  /// A client's connection, for one line at a time.
  struct LineConnection: Sendable {
    let channel: any Channel

    func request(_ text: String) -> EventLoopFuture<String> {
      channel.eventLoop.makeSucceededFuture(text)
    }

    func close() { channel.close(promise: nil) }
  }
#endif

// MARK: PledgeTesting

@Sendable func payTwice(in simulation: Simulation) async throws {
  let wallet = Wallet()
  let first = wallet.pay(10, on: simulation.executor("till"))
  let second = wallet.pay(20, on: simulation.executor("office"))
  _ = try await Promise.all(first, second).value
  try simulation.expect(wallet.balance == 30, "The balance is \(wallet.balance).")
}
