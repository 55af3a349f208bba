@_spi(DropIns) import Pledge

/// What cancels a promise that is bound to a scope, and waits for the end of its work.
enum Canceller: CaseIterable {
  case scope, bound, boundThenScope, cancelAndFinish, boundThenConsumer

  func cancel<T>(_ bound: Promise<T>, in scope: PromiseScope) async throws -> Guarantee<Void> {
    switch self {
    case .scope: break
    case .bound: bound.cancel()
    case .boundThenScope:
      bound.cancel()
      try await expectCancellation(of: bound)
    case .cancelAndFinish: return bound.cancelAndFinish()
    case .boundThenConsumer:
      bound.cancel()
      try await expectCancellation(of: bound)
      return bound.map { $0 }.cancelAndFinish()
    }
    return scope.close()
  }
}

/// What code that waits for the end of cancelled work waits for, besides tasks.
@Suite struct EndOfCleanups {
  let work = StubbornWork()
  let scope = PromiseScope()

  enum Step: CaseIterable { case asyncFinally, finallyThen, asyncRecover, recover, using }

  /// Returns a promise whose step does the work; a resource is used, and `used` fulfilled, before that.
  private func chain(
    _ step: Step, after source: Promise<Int>, used: Resolver<Void>
  ) -> Promise<Int> {
    switch step {
    case .asyncFinally: source.asyncFinally { await work.run() }
    case .finallyThen: source.finallyThen { Promise { await work.run() } }
    case .asyncRecover: source.asyncRecover { _ in await work.run() }
    case .recover: source.recover { _ in Promise { await work.run() } }
    case .using:
      Promise<Int>.using(acquire: { 1 }, release: { (_: Int) in await work.run() }) { _ in
        used.fulfill()
        return try await source.value
      }
    }
  }

  private func expectWaiting(_ step: Step, _ canceller: Canceller, isRunning: Bool) async throws {
    let (using, used) = Promise<Void>.withResolvers()
    let source: Promise<Int> =
      switch step {
      case .asyncFinally, .finallyThen: isRunning ? .value(1) : .never
      case .asyncRecover, .recover: isRunning ? .rejected(Boom()) : .never
      case .using: .never
      }
    let bound = chain(step, after: source, used: used).bound(to: scope)
    if isRunning { try await (step == .using ? using : work.started).value }
    let end = try await canceller.cancel(bound, in: scope)
    try await expectCancellation(of: bound)
    try await work.started.value
    #expect(end.promise.isPending && work.running == 1)
    work.open()
    await end.value
    await scope.close().value
    #expect(work.running == 0 && scope.pendingCount == 0)
    used.fulfill()
  }

  @Test(arguments: Step.allCases, Canceller.allCases)
  func stepThatRuns_isWaitedFor(step: Step, canceller: Canceller) async throws {
    try await expectWaiting(step, canceller, isRunning: true)
  }

  @Test(arguments: [Step.asyncFinally, .finallyThen, .asyncRecover, .recover], Canceller.allCases)
  func stepThatFollowsACancelledPromise_isWaitedFor(step: Step, canceller: Canceller) async throws {
    try await expectWaiting(step, canceller, isRunning: false)
  }

  enum Gathering: CaseIterable { case all, bounded, race, any, nested, resolve, onCancel }

  private func gather(_ gathering: Gathering, _ input: Promise<Int>) -> Promise<Void> {
    switch gathering {
    case .all: Promise.all([input, .never]).asVoid()
    case .bounded: Promise.all(on: .immediate, [0], concurrently: 1) { _ in input }.asVoid()
    case .race: Promise.race([input, .never]).asVoid()
    case .any: Promise.any([input, .never]).asVoid()
    case .nested: Promise.all([Promise.race([input, .never])]).asVoid()
    case .resolve: Promise<Int> { $0.resolve(with: input) }.asVoid()
    case .onCancel:
      Promise { resolver in
        resolver.onCancel { withExtendedLifetime(resolver) { input.cancel() } }
      }
    }
  }

  @Test(arguments: Gathering.allCases, Canceller.allCases)
  func cleanupOfAnInput_isWaitedFor(gathering: Gathering, canceller: Canceller) async throws {
    for waitsForItsExecutor in [false, true] {
      let (scope, log) = (PromiseScope(), Recorder<String>())
      let executor = ManualExecutor()
      let (gate, open) = Promise<Void>.withResolvers()
      let body: @Sendable () -> Promise<Void> = { gate.tap { _ in log.record("ended") } }
      let input =
        waitsForItsExecutor
        ? Promise<Int>.never.finallyThen(on: executor, body) : Promise<Int>.never.finallyThen(body)
      let bound = gather(gathering, input).bound(to: scope)
      let end = try await canceller.cancel(bound, in: scope)
      try await expectCancellation(of: bound)
      #expect(end.promise.isPending)
      if waitsForItsExecutor { executor.runAll() }
      #expect(end.promise.isPending && log.events.isEmpty)
      open.fulfill()
      await end.value
      #expect(log.events == ["ended"])
    }
  }

  @Test(arguments: [Canceller.scope, .cancelAndFinish], [false, true])
  func inputOfAPartialResult_isWaitedFor(
    canceller: Canceller, thatACancelledHandlerReturns: Bool
  ) async throws {
    let (input, executor) = (Promise { await work.run() }, ManualExecutor())
    let partial = Promise { resolver in
      resolver.onCancel {
        input.cancel()
        resolver.fulfill(0)
      }
    }
    let promise =
      thatACancelledHandlerReturns
      ? Promise<Int>.never.recover(on: executor) { _ in partial } : partial
    let end = try await canceller.cancel(promise.bound(to: scope), in: scope)
    executor.runAll()
    #expect(partial.state == "fulfilled: 0" && end.promise.isPending)
    work.open()
    await end.value
    #expect(work.running == 0)
  }

  @Test func cleanupBeforeAHandlerThatItsExecutorDrops_isWaitedFor() async {
    let (gate, open) = Promise<Void>.withResolvers()
    let dropping = ClosureExecutor { _ in }
    let promise = Promise.value(1).finallyThen(on: .immediate) { gate }.recover(on: dropping) { _ in
      .value(2)
    }
    let end = promise.cancelAndFinish()
    #expect(!promise.isPending && end.promise.isPending)
    open.fulfill()
    await end.value
  }

  @Test func ownErrorOfACancelledCleanup_staysTheError() async throws {
    let source = Promise<Int> { await work.run() }
    let promise = source.finallyThen { Promise<Void>.rejected(Boom()) }
    source.cancel()
    try await expectRejection(of: promise, with: Boom())
    work.open()
  }

  @Test func uncancellableWork_isNotWaitedFor() async {
    let (shared, resolver) = Promise<Int>.withResolvers()
    shared.uncancellable().bound(to: scope).ignoreErrors()
    await scope.close().value
    #expect(shared.isPending && !shared.isCancelled)
    resolver.fulfill(1)
  }

  @Test func cleanupThatWaitsForItsOwnPromise_endsWithTheScope() async {
    let (scope, own) = (PromiseScope(), Recorder<Promise<Int>>())
    let (gate, open) = Promise<Int>.withResolvers()
    let promise = gate.finallyThen { own.events[0].map { $0 } }
    own.record(promise)
    promise.bound(to: scope).ignoreErrors()
    open.fulfill(1)
    await scope.close().value
  }
}
