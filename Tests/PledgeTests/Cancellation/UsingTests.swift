import Pledge
import PledgeTesting
import Testing

private struct Refused: Error {}

@Suite struct UsingTests {
  private let log = Log()

  @Test func using_releasesAfterTheBody() async throws {
    let value = try await Promise.using(
      Promise.value("file"), release: { [log] in log.add("release \($0)") }
    ) { [log] resource in
      log.add("use \(resource)")
      return Promise.value(7).tap { _ in log.add("used") }
    }.value
    #expect(value == 7)
    #expect(log.entries == ["use file", "used", "release file"])
  }

  @Test func using_releasesWhenTheBodyThrows() async {
    let promise = Promise<Int>.using(
      Promise.value("file"), release: { [log] in log.add("release \($0)") }
    ) { _ in throw Refused() }
    await #expect(throws: Refused.self) { try await promise.value }
    #expect(log.entries == ["release file"])
  }

  @Test func using_releasesWhenCancelledInTheBody() async {
    let (inner, resolver) = Promise<Int>.withResolvers()
    let (entered, enter) = Promise<Void>.withResolvers()
    let promise = Promise.using(
      Promise.value("file"), release: { [log] in log.add("release \($0)") }
    ) { _ in
      enter.fulfill()
      return inner
    }
    _ = await entered.result
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    await #expect(throws: CancellationError.self) { try await inner.value }
    #expect(!resolver.isPending)
    #expect(log.entries == ["release file"])
  }

  @Test func using_cancelledWhileAcquiring_neverStartsTheBody() async {
    let (acquisition, resolver) = Promise<String>.withResolvers()
    resolver.onCancel { [log] in log.add("stop acquiring") }
    let promise = Promise<Int>.using(
      acquisition, release: { [log] in log.add("release \($0)") }
    ) { [log] _ in
      log.add("body")
      return .value(1)
    }
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    #expect(log.entries == ["stop acquiring"])
  }

  @Test func using_rejectsWhenNothingCouldBeAcquired() async {
    let promise = Promise<Int>.using(
      Promise<String>.rejected(Refused()), release: { [log] in log.add("release \($0)") }
    ) { _ in .value(1) }
    await #expect(throws: Refused.self) { try await promise.value }
    #expect(log.entries.isEmpty)
  }
}

/// What happened, in order.
private final class Log: Sendable {
  private let state = Mutex<[String]>([])
  var entries: [String] { state.withLock { $0 } }
  func add(_ entry: String) { state.withLock { $0.append(entry) } }
}
