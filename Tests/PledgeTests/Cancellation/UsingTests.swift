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
    #expect(log.entries == [])
    // A resource that is acquired after that isn't used, and is released.
    resolver.fulfill("file")
    await log.wait(for: "release file")
    #expect(log.entries == ["release file"])
  }

  @Test func using_cancelledWhileAnExecutorAcquires_releases() async throws {
    let executor = ManualExecutor()
    let acquisition = Promise(on: executor) { [log] in
      log.add("acquire")
      return "file"
    }
    let promise = Promise<Int>.using(
      acquisition, release: { [log] in log.add("release \($0)") }
    ) { _ in .value(1) }
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    executor.runAll()
    await log.wait(for: "release file")
    #expect(log.entries == ["acquire", "release file"])
  }

  @Test func using_async_cancelledWhileAcquiring_cancelsTheTask_andReleases() async throws {
    let (entered, enter) = Promise<Void>.withResolvers()
    let (open, opener) = Promise<Void>.withResolvers()
    let promise = Promise<Int>.using(
      acquire: { [log] in
        enter.fulfill()
        // A gate that ignores cancellation.
        _ = await Task.detached { try? await open.value }.value
        log.add("acquired, cancelled: \(Task.isCancelled)")
        return "file"
      }, release: { [log] in log.add("release \($0)") }
    ) { _ in 1 }
    try await entered.value
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    opener.fulfill()
    await log.wait(for: "release file")
    #expect(log.entries == ["acquired, cancelled: true", "release file"])
  }

  @Test func using_async_cancelledInTheBody_releasesWhenTheBodyHasEnded() async throws {
    let (entered, enter) = Promise<Void>.withResolvers()
    let (open, opener) = Promise<Void>.withResolvers()
    let promise = Promise<Int>.using(
      acquire: { "file" }, release: { [log] in log.add("release \($0)") }
    ) { [log] _ in
      enter.fulfill()
      // A gate that ignores cancellation.
      _ = await Task.detached { try? await open.value }.value
      log.add("used, cancelled: \(Task.isCancelled)")
      return 1
    }
    try await entered.value
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    #expect(log.entries == [])
    opener.fulfill()
    await log.wait(for: "release file")
    #expect(log.entries == ["used, cancelled: true", "release file"])
  }

  @Test func withResource_returnsTheResult_andReleases() async {
    let value = await withResource(
      acquire: { "file" }, release: { [log] in log.add("release \($0)") }
    ) { [log] resource in
      log.add("use \(resource)")
      return 7
    }
    #expect(value == 7)
    #expect(log.entries == ["use file", "release file"])
  }

  @Test func using_rejectsWhenNothingCouldBeAcquired() async {
    let promise = Promise<Int>.using(
      Promise<String>.rejected(Refused()), release: { [log] in log.add("release \($0)") }
    ) { _ in .value(1) }
    await #expect(throws: Refused.self) { try await promise.value }
    #expect(log.entries.isEmpty)
  }
}

/// An ordered log of events.
private final class Log: Sendable {
  private let state = Mutex<[String]>([])
  var entries: [String] { state.withLock { $0 } }
  func add(_ entry: String) {
    state.withLock { $0.append(entry) }
    let waiter = waiters.withLock { $0[entry] }
    waiter?.fulfill()
  }

  private let waiters = Mutex<[String: Resolver<Void>]>([:])

  /// Waits until `entry` has been logged.
  func wait(for entry: String) async {
    let (promise, resolver) = Promise<Void>.withResolvers()
    waiters.withLock { $0[entry] = resolver }
    if entries.contains(entry) { resolver.fulfill() }
    _ = await promise.result
  }
}
