@_spi(DropIns) import Pledge

/// What cancels a promise that is bound to a scope, and waits for the end of its work.
enum Canceller: CaseIterable {
  case scope, bound, boundThenScope, cancelAndFinish

  func cancel<T>(_ bound: Promise<T>, in scope: PromiseScope) async throws -> Guarantee<Void> {
    switch self {
    case .scope: break
    case .bound: bound.cancel()
    case .boundThenScope:
      bound.cancel()
      try await expectCancellation(of: bound)
    case .cancelAndFinish: return bound.cancelAndFinish()
    }
    return scope.close()
  }
}

/// What code that waits for the end of cancelled work waits for, besides tasks.
@Suite struct EndOfCleanups {
  let log = Recorder<String>()
  let scope = PromiseScope()

  enum Step: CaseIterable { case asyncFinally, finallyThen, asyncRecover, recover, using }

  /// Ends, ignoring cancellation, when `gate` settles.
  @discardableResult private func stubborn(_ gate: Promise<Void>, _ name: String) async -> Int {
    await Task.detached { _ = await gate.result }.value
    log.record("\(name) ended")
    return 1
  }

  private func chain(
    _ step: Step, after source: Promise<Int>, _ gate: Promise<Void>, started: Resolver<Void>
  ) -> Promise<Int> {
    switch step {
    case .asyncFinally:
      source.asyncFinally {
        started.fulfill()
        await stubborn(gate, "step")
      }
    case .finallyThen:
      source.finallyThen {
        started.fulfill()
        return Promise { await stubborn(gate, "step") }
      }
    case .asyncRecover:
      source.asyncRecover { _ in
        started.fulfill()
        return await stubborn(gate, "step")
      }
    case .recover:
      source.recover { _ in
        started.fulfill()
        return Promise { await stubborn(gate, "step") }
      }
    case .using:
      Promise<Int>.using(
        acquire: { 1 }, release: { (_: Int) in await stubborn(gate, "step") }
      ) { _ in
        started.fulfill()
        return try await source.value
      }
    }
  }

  private func expectWaiting(
    _ step: Step, _ canceller: Canceller, isRunning: Bool, isStubborn: Bool
  ) async throws {
    let (gate, open) = Promise<Void>.withResolvers()
    let (started, start) = Promise<Void>.withResolvers()
    let fails = step == .asyncRecover || step == .recover
    let source =
      if isRunning, step != .using {
        fails ? Promise<Int>.rejected(Boom()) : .value(1)
      } else if isStubborn {
        Promise<Int> { await stubborn(gate, "source") }
      } else {
        Promise<Int>.never
      }
    let work = chain(step, after: source, gate, started: start)
    let bound = work.bound(to: scope)
    if isRunning { try await started.value }
    let end = try await canceller.cancel(bound, in: scope)
    try await expectCancellation(of: bound)
    if !isRunning, step != .using { try await started.value }
    #expect(end.promise.isPending)
    #expect(log.events.isEmpty)
    open.fulfill()
    await end.value
    await scope.close().value
    let expected = isStubborn ? ["source ended", "step ended"] : ["step ended"]
    #expect(log.events.sorted() == expected)
    #expect(scope.pendingCount == 0)
  }

  @Test(arguments: Step.allCases, Canceller.allCases)
  func stepThatRuns_isWaitedFor(step: Step, canceller: Canceller) async throws {
    try await expectWaiting(step, canceller, isRunning: true, isStubborn: false)
  }

  @Test(arguments: [Step.asyncFinally, .finallyThen, .asyncRecover, .recover], Canceller.allCases)
  func stepThatFollowsACancelledPromise_isWaitedFor(step: Step, canceller: Canceller) async throws {
    try await expectWaiting(step, canceller, isRunning: false, isStubborn: false)
  }

  @Test(arguments: [Step.asyncFinally, .finallyThen], Canceller.allCases)
  func stepAndTheTaskBeforeIt_areWaitedFor(step: Step, canceller: Canceller) async throws {
    try await expectWaiting(step, canceller, isRunning: false, isStubborn: true)
  }

  @Test(arguments: [Step.asyncRecover, .recover], [Canceller.scope, .cancelAndFinish])
  func recoveryAndTheTaskBeforeIt_areWaitedFor(step: Step, canceller: Canceller) async throws {
    try await expectWaiting(step, canceller, isRunning: false, isStubborn: true)
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

  @Test func ownErrorOfACancelledCleanup_staysTheError() async throws {
    let (gate, open) = Promise<Void>.withResolvers()
    let source = Promise<Int> { await stubborn(gate, "source") }
    let promise = source.finallyThen { Promise<Void>.rejected(Boom()) }
    source.cancel()
    try await expectRejection(of: promise, with: Boom())
    open.fulfill()
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
