/// What a scope waits for besides the tasks that it cancels itself: what these await, and what was
/// bound too late.
@Suite struct EndOfAwaitedWork {
  /// How a task waits for the work of another one.
  enum Await: CaseIterable {
    case value, timeout, loader, coalescer, coalescerOfPromises, results, nested, limiter
  }

  private func task(awaiting kind: Await, _ work: StubbornWork) -> Promise<Int> {
    switch kind {
    case .value: Promise { try await Promise { await work.run() }.value }
    case .timeout: Promise { try await withTimeout(.seconds(3600)) { await work.run() } }
    case .loader:
      Promise {
        try await DataLoader<Int, Int>(delay: .zero) { _ in [1: .success(await work.run())] }
          .value(for: 1)
      }
    case .coalescer:
      Promise { try await RequestCoalescer<Int, Int>().value(for: 1) { await work.run() } }
    case .coalescerOfPromises:
      Promise {
        let inner = Promise { await work.run() }
        return try await RequestCoalescer<Int, Int>().promise(for: 1) { inner }.value
      }
    case .results:
      Promise {
        for try await (_, result) in results(of: [1], limit: 1, { _ in await work.run() }) {
          return try result.get()
        }
        return 0
      }
    case .nested:
      Promise { try await Promise { try await Promise { await work.run() }.value }.value }
    case .limiter: Promise { try await Limiter(1).run { await work.run() }.value }
    }
  }

  @Test(arguments: Await.allCases, Canceller.allCases)
  func aTask_isWaitedForWithWhatItAwaits(_ kind: Await, _ canceller: Canceller) async throws {
    let (scope, work) = (PromiseScope(), StubbornWork())
    let bound = task(awaiting: kind, work).bound(to: scope)
    try await expectFulfillment(of: work.started)
    let end = try await canceller.cancel(bound, in: scope)
    let runningAtTheEnd = end.map(on: .immediate) { work.running }
    try await expectCancellation(of: bound)
    #expect(end.isPending && work.running == 1)
    work.open()
    try await expectFulfillment(of: runningAtTheEnd.promise, with: 0)
  }

  @Test func taskThatEndsWithAValueWhileItIsCancelled_leavesItsPromiseCancelled() async throws {
    let (ended, end) = Promise<Void>.withResolvers()
    let (started, start) = Promise<Void>.withResolvers()
    let promise = Promise<Int> {
      await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          Self.continuation.withLock { $0 = continuation }
          start.fulfill()
        }
      } onCancel: {
        // The task ends before this returns.
        Self.continuation.withLock { $0.take() }?.resume()
      }
      end.fulfill()
      return 1
    }
    try await expectFulfillment(of: started)
    promise.cancel()
    try await expectCancellation(of: promise)
    try await expectFulfillment(of: ended)
  }

  private static let continuation = Mutex<UnsafeContinuation<Void, Never>?>(nil)

  @Test func boundPromise_hasSettled_whenTheScopeHasEnded() async throws {
    let scope = PromiseScope()
    let (gate, open) = Promise<Void>.withResolvers()
    let (started, start) = Promise<Void>.withResolvers()
    let queue = DispatchQueue(label: "work")
    let bound = Promise.value(1).map(on: queue) { value in
      start.fulfill()
      try gate.wait()
      return value
    }.bound(to: scope)
    try await expectFulfillment(of: started)
    let isPending = scope.close().map(on: .immediate) { bound.isPending }
    open.fulfill()
    try await expectFulfillment(of: isPending.promise, with: false)
  }

  @Test func promiseThatAHandlerBindsWhileTheScopeCloses_isWaitedFor() async throws {
    let (scope, work, inner) = (PromiseScope(), StubbornWork(), Recorder<Promise<Int>>())
    Promise<Int>.never.recover(on: .global) { _ in
      inner.record(Promise { await work.run() }.bound(to: scope))
      return inner.events[0]
    }.bound(to: scope).ignoreErrors()
    let end = scope.close()
    try await expectFulfillment(of: work.started)
    await inner.reaches(1).value
    try await expectRejection(of: inner.events[0], with: PromiseError.scopeClosed)
    #expect(end.isPending)
    work.open()
    try await expectFulfillment(of: end.promise)
    #expect(work.running == 0)
    // Nothing is waited for afterwards.
    try await expectRejection(
      of: Promise<Int>.never.bound(to: scope), with: PromiseError.scopeClosed)
    #expect(scope.pendingCount == 0)
  }

  @Test func handlersOfAPromiseThatIsBoundWhileTheScopeCloses_areWaitedFor() async {
    let (scope, executor) = (PromiseScope(), ManualExecutor())
    func bind() { Promise.value(1).finally(on: executor) {}.bound(to: scope).ignoreErrors() }
    bind()
    let end = scope.close()
    bind()
    #expect(scope.pendingCount == 2)
    executor.runAll()
    await end.value
  }
}
