import Pledge
import PledgeTesting
import Testing

@Suite struct UsingTests {
  private let log = Recorder<String>()

  @Test func using_releasesAfterTheBody() async throws {
    let value = try await Promise.using(
      Promise.value("file"), release: { [log] in log.record("release \($0)") }
    ) { [log] resource in
      log.record("use \(resource)")
      return Promise.value(7).tap { _ in log.record("used") }
    }.value
    #expect(value == 7)
    #expect(log.events == ["use file", "used", "release file"])
  }

  @Test func using_releasesWhenTheBodyThrows() async {
    let promise = Promise<Int>.using(
      Promise.value("file"), release: { [log] in log.record("release \($0)") }
    ) { _ in throw Boom() }
    await #expect(throws: Boom.self) { try await promise.value }
    #expect(log.events == ["release file"])
  }

  @Test func using_releasesWhenCancelledInTheBody() async {
    let (inner, resolver) = Promise<Int>.withResolvers()
    let (entered, enter) = Promise<Void>.withResolvers()
    let promise = Promise.using(
      Promise.value("file"), release: { [log] in log.record("release \($0)") }
    ) { _ in
      enter.fulfill()
      return inner
    }
    _ = await entered.result
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    await #expect(throws: CancellationError.self) { try await inner.value }
    #expect(!resolver.isPending)
    #expect(log.events == ["release file"])
  }

  @Test func using_cancelledWhileATaskUsesIt_releasesWhenTheTaskHasEnded() async {
    let (entered, enter) = Promise<Void>.withResolvers()
    let (gate, open) = Promise<Void>.withResolvers()
    let scope = PromiseScope()
    let promise = Promise.using(
      Promise.value("file"), release: { [log] in log.record("release \($0)") }
    ) { [log] _ in
      Promise {
        enter.fulfill()
        await Task.detached { _ = await gate.result }.value
        log.record("used")
        return 1
      }
    }.bound(to: scope)
    _ = await entered.result
    let end = scope.close()
    await #expect(throws: CancellationError.self) { try await promise.value }
    #expect(log.events == [])
    #expect(end.isPending)
    open.fulfill()
    await end.value
    #expect(log.events == ["used", "release file"])
  }

  @Test func using_cancelledWhileAcquiring_neverStartsTheBody() async {
    let (acquisition, resolver) = Promise<String>.withResolvers()
    resolver.onCancel { [log] in log.record("stop acquiring") }
    let promise = Promise<Int>.using(
      acquisition, release: { [log] in log.record("release \($0)") }
    ) { [log] _ in
      log.record("body")
      return .value(1)
    }
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    #expect(log.events == [])
    // A resource that is acquired after that isn't used, and is released.
    resolver.fulfill("file")
    await log.reaches(1).value
    #expect(log.events == ["release file"])
  }

  @Test func using_async_cancelledWhileAcquiring_cancelsTheTask_andReleases() async throws {
    let (entered, enter) = Promise<Void>.withResolvers()
    let (open, opener) = Promise<Void>.withResolvers()
    let promise = Promise<Int>.using(
      acquire: { [log] in
        enter.fulfill()
        // A gate that ignores cancellation.
        _ = await Task.detached { try? await open.value }.value
        log.record("acquired, cancelled: \(Task.isCancelled)")
        return "file"
      }, release: { [log] in log.record("release \($0)") }
    ) { _ in 1 }
    try await entered.value
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    opener.fulfill()
    await log.reaches(2).value
    #expect(log.events == ["acquired, cancelled: true", "release file"])
  }

  @Test func using_async_cancelledInTheBody_releasesWhenTheBodyHasEnded() async throws {
    let (entered, enter) = Promise<Void>.withResolvers()
    let (open, opener) = Promise<Void>.withResolvers()
    let promise = Promise<Int>.using(
      acquire: { "file" }, release: { [log] in log.record("release \($0)") }
    ) { [log] _ in
      enter.fulfill()
      // A gate that ignores cancellation.
      _ = await Task.detached { try? await open.value }.value
      log.record("used, cancelled: \(Task.isCancelled)")
      return 1
    }
    try await entered.value
    promise.cancel()
    await #expect(throws: CancellationError.self) { try await promise.value }
    #expect(log.events == [])
    opener.fulfill()
    await log.reaches(2).value
    #expect(log.events == ["used, cancelled: true", "release file"])
  }

  @Test func using_rejectsWhenNothingCouldBeAcquired() async {
    let promise = Promise<Int>.using(
      Promise<String>.rejected(Boom()), release: { [log] in log.record("release \($0)") }
    ) { _ in .value(1) }
    await #expect(throws: Boom.self) { try await promise.value }
    #expect(log.count == 0)
  }
}
