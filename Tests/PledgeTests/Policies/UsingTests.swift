@Suite struct UsingTests {
  private let log = Recorder<String>()
  private let work = StubbornWork()

  /// Uses a resource, and records its release.
  private func using(
    _ acquisition: Promise<String> = .value("file"),
    _ body: @escaping @Sendable (String) throws -> Promise<Int>
  ) -> Promise<Int> {
    .using(acquisition, release: { [log] in log.record("release \($0)") }) { try body($0) }
  }

  @Test func using_releasesAfterTheBody() async throws {
    let promise = using { [log] resource in
      log.record("use \(resource)")
      return Promise.value(7).tap { _ in log.record("used") }
    }
    try await expectFulfillment(of: promise, with: 7)
    #expect(log.events == ["use file", "used", "release file"])
  }

  @Test func using_releasesWhenTheBodyThrows() async throws {
    try await expectRejection(of: using { _ in throw Boom() }, with: Boom())
    #expect(log.events == ["release file"])
  }

  @Test func using_cancelledWhileATaskUsesIt_releasesWhenTheTaskHasEnded() async throws {
    let (scope, (gate, open)) = (PromiseScope(), Promise<Void>.withResolvers())
    let tasks = Recorder<Promise<Int>>()
    let promise = Promise<Int>.using(.value(1)) { [log] _ in
      log.record("releasing")
      try? gate.wait()
      log.record("released")
    } _: { [log, work] _ in
      tasks.record(
        Promise {
          await work.run()
          log.record("used")
          return 1
        })
      return tasks.events[0]
    }.bound(to: scope)
    try await work.started.value
    let end = scope.close()
    try await expectCancellation(of: promise)
    #expect(log.events == [])
    work.open()
    await log.reaches(2).value
    // A scope that waited only for the task would have ended.
    await tasks.events[0].cancelAndFinish().value
    #expect(end.isPending)
    open.fulfill()
    await end.value
    #expect(log.events == ["used", "releasing", "released"])
  }

  @Test func using_cancelledWhileAcquiring_neverStartsTheBody() async throws {
    let (acquisition, resolver) = Promise<String>.withResolvers()
    resolver.onCancel { [log] in log.record("stop acquiring") }
    let promise = using(acquisition) { [log] _ in
      log.record("body")
      return .value(1)
    }
    promise.cancel()
    try await expectCancellation(of: promise)
    #expect(log.events == [])
    // A resource that is acquired after that isn't used, and is released.
    resolver.fulfill("file")
    await log.reaches(1).value
    #expect(log.events == ["release file"])
  }

  /// The task isn't interrupted, and its resource is released when it has ended.
  @Test(arguments: [true, false])
  func using_async_cancelled_cancelsTheTask_andReleases(whileAcquiring: Bool) async throws {
    let promise = Promise<Int>.using(
      acquire: { [log, work] in
        if whileAcquiring {
          await work.run()
          log.record("acquired, cancelled: \(Task.isCancelled)")
        }
        return "file"
      }, release: { [log] in log.record("release \($0)") }
    ) { [log, work] _ in
      await work.run()
      log.record("used, cancelled: \(Task.isCancelled)")
      return 1
    }
    try await work.started.value
    promise.cancel()
    try await expectCancellation(of: promise)
    #expect(log.events == [])
    work.open()
    await log.reaches(2).value
    let first = whileAcquiring ? "acquired" : "used"
    #expect(log.events == ["\(first), cancelled: true", "release file"])
  }

  @Test func using_rejectsWhenNothingCouldBeAcquired() async throws {
    try await expectRejection(of: using(.rejected(Boom())) { _ in .value(1) }, with: Boom())
    #expect(log.count == 0)
  }
}
