/// Scopes that close, and `cancelAndFinish()`.
@Suite struct ClosingScopes {
  let log = Recorder<String>()
  let work = StubbornWork()
  let scope = PromiseScope()

  /// A task that ignores its cancellation until the work is open.
  private func stubborn() async {
    await work.run()
    log.record("task ended")
  }

  @Test func close_waitsForTasks_thatCancelAllHasCancelled_evenIfTheScopeIsReleased() async throws {
    let end: Guarantee<Void>
    do {
      let scope = PromiseScope()
      let bound = Promise { await stubborn() }.bound(to: scope)
      scope.cancelAll()
      try await expectCancellation(of: bound)
      end = scope.close()
    }
    #expect(end.promise.isPending)
    work.open()
    await end.value
    #expect(log.events == ["task ended"])
  }

  enum Canceller: CaseIterable { case bound, source, consumer, timeout }

  /// Other code than the scope cancels the task.
  @Test(arguments: Canceller.allCases)
  func close_waitsForTasks_thatOtherCodeHasCancelled(canceller: Canceller) async throws {
    let (clock, scope) = (TestClock(), PromiseScope())
    let task = Promise { await stubborn() }
    let source = task.map { 1 }
    let bound = source.bound(to: scope)
    switch canceller {
    case .bound: bound.cancel()
    case .source: source.cancel()
    case .consumer: bound.map { $0 }.cancel()
    case .timeout:
      let limited = bound.timeout(after: .seconds(1), clock: clock)
      await clock.advance(by: .seconds(1))
      try await expectRejection(of: limited, with: TimeoutError.self)
    }
    try await expectCancellation(of: task)
    #expect(scope.pendingCount == 1)
    let end = scope.close()
    #expect(end.promise.isPending)
    work.open()
    await end.value
    #expect(log.events == ["task ended"] && scope.pendingCount == 0)
  }

  @Test func close_ofAnEmptyScope_isFulfilledImmediately() {
    #expect(!scope.close().promise.isPending && scope.isClosed)
  }

  @Test func workOfAClosedScope_isRejected_andDoesNotStart() async throws {
    scope.close()
    let pending = Promise<Int>.never
    let works = [
      pending.bound(to: scope), scope.run { () async throws -> Int in 1 },
      scope.run { () -> Promise<Int> in
        Issue.record("It starts.")
        return .value(1)
      },
    ]
    for work in works {
      try await expectRejection(of: work, with: PromiseError.scopeClosed)
    }
    // It had no other consumer.
    try await expectCancellation(of: pending)
  }

  @Test func aPromiseWithAnotherConsumer_isNotWaitedFor() async throws {
    let (shared, resolver) = Promise<Int>.withResolvers()
    let other = shared.map { $0 }
    shared.bound(to: scope).ignoreErrors()
    await scope.close().value
    resolver.fulfill(1)
    try await expectFulfillment(of: other, with: 1)
  }

  @Test func closeAgainstTheEndOfWork_bothOrders() async throws {
    for _ in 0..<300 {
      let scope = PromiseScope()
      let (gate, open) = Promise<Void>.withResolvers()
      scope.run { try await gate.value }.ignoreErrors()
      gate.bound(to: scope).ignoreErrors()
      async let opening = open.fulfill()
      await scope.close().value
      _ = await opening
      #expect(scope.pendingCount == 0)
    }
  }

  @Test func withPromiseScope_keepsTheError_andItsType() async {
    do throws(Boom) {
      try await withPromiseScope { (scope) throws(Boom) in
        scope.run {
          defer { log.record("ended") }
          try await Promise<Void>.never.value
        }
        throw Boom()
      }
      Issue.record("It succeeds.")
    } catch { #expect(log.events == ["ended"]) }
  }

  @Test func withPromiseScope_cancelled_waitsForTasksOfBoundPromises() async throws {
    let (started, start) = Promise<Void>.withResolvers()
    let task = Task {
      await withPromiseScope { scope in
        let bound = Promise { await stubborn() }.bound(to: scope)
        start.fulfill()
        _ = await bound.settlement()
        log.record("body ended")
        work.open()
      }
      log.record("scope ended")
    }
    try await started.value
    task.cancel()
    await task.value
    #expect(log.events == ["body ended", "task ended", "scope ended"])
  }

  @Test func cancelAndFinish_ofASettledPromise_isFulfilled() async {
    await Promise.value(1).cancelAndFinish().value
    await Promise<Int>.rejected(CancellationError()).cancelAndFinish().value
  }

  @Test func cancelAndFinish_ofOneConsumer_leavesTheOthers() async throws {
    let (shared, resolver) = Promise<Int>.withResolvers()
    let (mine, other) = (shared.map { $0 }, shared.map { $0 })
    await mine.cancelAndFinish().value
    resolver.fulfill(1)
    try await expectFulfillment(of: other, with: 1)
  }

  @Test func tasksThatStartDuringCancellation_areNotWaitedFor() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (gate, open) = Promise<Void>.withResolvers()
    resolver.onCancel {
      Task { [log] in
        _ = await gate.result
        log.record("later")
      }
    }
    await promise.cancelAndFinish().value
    #expect(log.count == 0)
    open.fulfill()
  }
}

extension Promise {
  /// Waits for the result without cancelling the promise.
  fileprivate func settlement() async -> Result<Value, any Error> {
    await Guarantee { resolver in watch { resolver.fulfill($0) } }.value
  }
}

/// What a scope does with its work.
@Suite struct ScopeTests {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  @Test func aScope_keepsNothingOfWhatHasSettled_andSparesWhatIsShared() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let scope = PromiseScope()
    let bound = work.bound(to: scope)
    let other = work.map { $0 + 1 }
    try await expectFulfillment(of: Promise.value(1).bound(to: scope), with: 1)
    #expect(scope.pendingCount == 1)
    scope.cancelAll()
    #expect(scope.pendingCount == 0)
    try await expectCancellation(of: bound)
    resolver.fulfill(1)
    try await expectFulfillment(of: other, with: 2)
    try await expectFulfillment(of: Promise.value(2).bound(to: scope), with: 2)
  }

  @MainActor final class Model {
    let scope = PromiseScope()
    var items: [Int] = []

    func load(_ promise: Promise<Int>) -> Promise<Void> {
      promise.bound(to: scope).done(weak: self) { model, item in model.items.append(item) }
    }
  }

  @MainActor @Test func anOwner_isNotKeptByItsWork() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    var model: Model? = Model()
    weak let owner = model
    let loaded = model?.load(.value(1))
    try await loaded?.value
    #expect(model?.items == [1])
    let pending = model?.load(work)
    model = nil
    #expect(owner == nil)
    if let pending { try await expectCancellation(of: pending) }
    #expect(!resolver.isPending)
  }

  @Test func aScope_runsOperationsThatReturnPromises() async throws {
    let (work, scope) = (Promise<Int>.never, PromiseScope())
    let running = scope.run { work }
    #expect(scope.pendingCount == 1)
    scope.cancelAll()
    try await expectCancellation(of: running)
    try await expectCancellation(of: work)
    try await expectFulfillment(of: scope.run { Guarantee.value(4) }, with: 4)
    try await expectRejection(
      of: scope.run { () throws -> Promise<Int> in throw Boom() }, with: Boom())
    #expect(scope.pendingCount == 0)
  }
}
