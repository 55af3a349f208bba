import Foundation
import Observation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The examples of PledgeFoundation.md, RequestsAndProcesses.md, and FoundationOperators.md. None of the tests uses the network.

struct Person: Decodable, Sendable {
  var name: String
}

final class ByteCounter: Sendable {
  private let counts = Recorder<Int>()
  var total: Int { counts.events.reduce(0, +) }
  func add(_ count: Int) { counts.record(count) }
}

struct Chapter: Sendable {
  var pageCount: Int64
  func typeset() -> Promise<Int> { .value(Int(pageCount)) }
}

extension Notification.Name {
  static let downloaded = Notification.Name("downloaded")
}

@Observable @MainActor
final class Model {
  var title = ""
}

func loadUser(_ url: URL) -> Promise<Person> {
  URLSession.shared.load(url)
    .validate()
    .map { data, _ in try JSONDecoder().decode(Person.self, from: data) }
}

func findUser(_ url: URL) -> Promise<Person?> {
  loadUser(url)
    .map { person in person as Person? }
    .recover(only: HTTPStatusError.self) { error in
      guard error.status == 404 else { throw error }
      return .value(nil)
    }
}

func save(_ url: URL, to file: URL) -> Promise<URL> {
  URLSession.shared.download(url, to: file).map { file, _ in file }
}

func countBytes(of url: URL, in counter: ByteCounter) -> Promise<Int> {
  URLSession.shared.stream(url) { data in counter.add(data.count) }
    .map { _ in counter.total }
}

func loadReliably(_ url: URL) -> Promise<Person> {
  let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200))
    .withJitter().retryingTransientErrors().honoringRetryAfter()
  return Promise.retry(policy) { loadUser(url) }
}

#if os(macOS) || os(Linux)
  func currentCommit(in folder: URL) -> Promise<String> {
    Process.execute("git", "rev-parse", "HEAD", directory: folder)
      .timeout(after: .seconds(10))
      .map { output in output.text }
  }
#endif

func nextFile(from center: NotificationCenter) -> Guarantee<String> {
  center.next(.downloaded) { notification in notification.userInfo?["file"] as? String }
}

@MainActor
func nextTitle(of model: Model) -> Guarantee<String> {
  Guarantee.next { model.title }
}

func typeset(_ chapters: [Chapter], reporting progress: Progress) -> Promise<[Int]> {
  Promise.all(
    chapters.map { chapter in chapter.typeset() }, progress: progress,
    weights: chapters.map { chapter in chapter.pageCount })
}

/// What FoundationOperators.md recommends.
func recommendedRequests(
  _ session: URLSession, _ url: URL, _ file: URL, _ counter: ByteCounter
) -> [Promise<Void>] {
  [
    session.load(url).asVoid(),
    session.load(url).validate().asVoid(),
    session.download(url, to: file).asVoid(),
    session.stream(url) { data in counter.add(data.count) }.asVoid(),
  ]
}

func recommendedPolicy() -> RetryPolicy {
  .fixed(attempts: 3)
    .retryingTransientErrors()
}

func recommendedGuarantee(_ center: NotificationCenter) -> Guarantee<Void> {
  center.next(.downloaded)
}

#if os(macOS) || os(Linux)
  func recommendedPrograms(_ process: Process, _ name: String) -> [Promise<ProcessOutput>] {
    [
      process.execute(),
      Process.execute("git", "log", name),
    ]
  }
#endif

@Suite struct FoundationArticle {
  @Test func nextNotification_isTheGuaranteesValue() async throws {
    let center = NotificationCenter()
    let file = nextFile(from: center)
    center.post(name: .downloaded, object: nil, userInfo: ["file": "a.txt"])
    try await expectFulfillment(of: file.promise, with: "a.txt")
  }

  @Test @MainActor func nextTitle_isTheNewOne() async throws {
    let model = Model()
    let title = nextTitle(of: model)
    model.title = "Pledge"
    try await expectFulfillment(of: title.promise, with: "Pledge")
  }

  @Test func typesetting_completesTheProgress() async throws {
    let progress = Progress(totalUnitCount: -1)
    let pages = typeset([Chapter(pageCount: 3), Chapter(pageCount: 4)], reporting: progress)
    try await expectFulfillment(of: pages, with: [3, 4])
    #expect(progress.completedUnitCount == 7)
  }

  #if os(macOS) || os(Linux)
    @Test func programThatIsMissing_isNamed() async throws {
      let output = Process.execute("no-such-program-anywhere")
      try await expectRejection(of: output, with: ProgramNotFoundError.self)
    }
  #endif
}
