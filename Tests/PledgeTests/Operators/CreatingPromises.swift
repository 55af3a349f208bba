/// All ways to create promises, and the misuse of resolvers.
@Suite struct CreatingPromises {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  @Test func valuesAndErrors() async throws {
    #expect(Promise.value(1).state == "fulfilled: 1")
    #expect(Promise<Int>.rejected(Boom()).finally(on: .immediate) {}.currentResult != nil)
    #expect(!Promise<Void>().isPending)
    #expect(Guarantee.value(1).currentValue == 1)
    #expect(Promise.value(1).description == "Promise<Int>(fulfilled: 1)")
    #expect(Promise<Int>.withResolvers().promise.description.contains("resolver was dropped"))
  }

  @Test func equalityIsIdentity() {
    let one = Promise.value(1), other = Promise.value(1)
    #expect(one == one && one != other)
    #expect(Set([one, one, other]).count == 2)
    let guarantee = Guarantee.value(1)
    #expect(guarantee.promise == guarantee.promise)
  }

  @Test func resolverClosures() async throws {
    try await expectFulfillment(of: Promise<Int> { $0.fulfill(1) }, with: 1)
    try await expectRejection(of: Promise<Int> { _ in throw Boom() }, with: Boom())
    let both = Promise<Int> { resolver in
      resolver.fulfill(1)
      throw Boom()
    }
    try await expectFulfillment(of: both, with: 1)
    let later = Promise<Int> { resolver in DispatchQueue.global().async { resolver.fulfill(2) } }
    try await expectFulfillment(of: later, with: 2)
    #expect(await Guarantee<Int> { $0.fulfill(3) }.value == 3)
  }

  @Test(arguments: Place.all) func workOnAnExecutor(place: Place) async throws {
    let work = Promise(on: place.executor) {
      try place.probe.expectCurrent()
      return 1
    }
    try await expectFulfillment(of: work, with: 1)
    try await expectRejection(of: Promise<Int>(on: place.executor) { throw Boom() }, with: Boom())
    #expect(await Guarantee.value(()).map(on: place.executor) { 2 }.value == 2)
  }

  @Test func attempts() async throws {
    try await expectFulfillment(of: Promise(Result { 1 }), with: 1)
    try await expectFulfillment(of: Promise.attempt { Promise.value(2) }, with: 2)
    try await expectRejection(of: Promise<Int>.attempt { throw Boom() }, with: Boom())
    try await expectRejection(of: Promise(Result<Int, any Error> { throw Boom() }), with: Boom())
    try await expectRejection(of: Promise(Result<Int, Boom>.failure(Boom())), with: Boom())
    try await expectFulfillment(of: Promise.attempt { Guarantee.value(3).promise }, with: 3)
  }

  @Test func attempt_isAPromiseOfItsOwn() async throws {
    let (shared, _, told) = Promise<Int>.withToldProducer()
    let other = shared.map(on: .immediate) { $0 + 1 }
    let attempts = [Promise.attempt { shared }, Promise.attempt { shared }]
    for attempt in attempts {
      attempt.cancel()
      try await expectCancellation(of: attempt)
      try expectPending(shared)
    }
    try told.expectNever()
    // As the only consumer, it cancels the promise.
    let last = Promise.attempt { shared }
    other.cancel()
    try expectPending(shared)
    last.cancel()
    try told.expectOnce()
    try await expectCancellation(of: shared)
    let guarantee = Guarantee<Int>.never
    let view = guarantee.map(on: .immediate) { $0 }
    Promise.attempt { guarantee.promise }.cancel()
    #expect(guarantee.isPending && view.isPending)
  }

  @Test func never_staysPending_untilItIsCancelled() async throws {
    let never = Promise<Int>.never
    try expectPending(never)
    let chain = never.map { $0 + 1 }
    chain.cancel()
    try await expectCancellation(of: chain)
    try await expectCancellation(of: never)
    #expect(Guarantee<Int>.never.isPending)
  }

  @Test @MainActor func closuresThatDontSuspend_runInATask() async throws {
    var runs = 0
    let promise = Promise {
      runs += 1
      return runs
    }
    #expect(runs == 0)
    try await expectFulfillment(of: promise, with: 1)
    // Only now, because two tasks of an actor can run in either order.
    let nothing = Promise { runs += 1 }
    #expect(runs == 1)
    try await expectFulfillment(of: nothing)
    #expect(runs == 2)
    try await expectRejection(of: Promise<Int> { throw Boom() }, with: Boom())
    try await expectFulfillment(of: Self.madeElsewhere(), with: 3)
  }

  /// The closure's isolation isn't that of the code around it.
  private nonisolated static func madeElsewhere() -> Promise<Int> {
    Promise { @MainActor in
      MainActor.assertIsolated()
      return 3
    }
  }

  @Test func asyncClosures() async throws {
    @Sendable func later(_ number: Int) async -> Int {
      await Task.yield()
      return number
    }
    try await expectFulfillment(of: Promise { await later(1) }, with: 1)
    try await expectRejection(of: Promise { throw Boom(code: await later(7)) }, with: Boom(code: 7))
    #expect(await Guarantee { await later(2) }.value == 2)
  }

  @Test func wrap_everyShape() async throws {
    func valueError(_ value: Int?, _ error: Boom?, _ done: (Int?, (any Error)?) -> Void) {
      done(value, error)
    }
    func error(_ error: Boom?, _ done: ((any Error)?) -> Void) { done(error) }
    func result(_ result: Result<Int, Boom>, _ done: (Result<Int, Boom>) -> Void) { done(result) }
    func value(_ value: Int, _ done: (Int) -> Void) { done(value) }
    func two(_ a: Int?, _ b: String?, _ e: Boom?, _ done: (Int?, String?, (any Error)?) -> Void) {
      done(a, b, e)
    }
    func nothing(_ done: () -> Void) { done() }
    try await expectFulfillment(of: Promise.wrap { valueError(1, nil, $0) }, with: 1)
    try await expectRejection(of: Promise.wrap { valueError(1, Boom(), $0) }, with: Boom())
    try await expectRejection(
      of: Promise.wrap { valueError(nil, nil, $0) }, with: PromiseError.noValueAndNoError)
    try await expectFulfillment(of: Promise<Void>.wrap { error(nil, $0) })
    try await expectRejection(of: Promise<Void>.wrap { error(Boom(), $0) }, with: Boom())
    try await expectFulfillment(of: Promise.wrap { result(.success(1), $0) }, with: 1)
    try await expectRejection(of: Promise.wrap { result(.failure(Boom()), $0) }, with: Boom())
    try await expectFulfillment(of: Promise<Int>.wrap { value(1, $0) }, with: 1)
    let both = try await Promise.wrap { two(1, "b", nil, $0) }.value
    #expect(both == (1, "b"))
    try await expectRejection(
      of: Promise.wrap { two(1, nil, nil, $0) }.asVoid(), with: PromiseError.noValueAndNoError)
    try await expectRejection(of: Promise.wrap { two(1, "b", Boom(), $0) }.asVoid(), with: Boom())
    try await expectFulfillment(of: Promise<Void>.wrap { nothing($0) })
    let throwing = Promise<Int>.wrap { (_: @Sendable (Int?, (any Error)?) -> Void) in throw Boom() }
    try await expectRejection(of: throwing, with: Boom())
    // Optional values.
    let found: Promise<Int?> = Promise.wrap { valueError(nil, nil, $0) }
    try await expectFulfillment(of: found, with: nil)
    let failed: Promise<Int?> = Promise.wrap { valueError(1, Boom(), $0) }
    try await expectRejection(of: failed, with: Boom())
  }

  @Test(arguments: When.allCases) func resolverThatFollowsAPromise(when: When) async throws {
    func following(_ source: Promise<Int>) -> Promise<Int> { Promise { $0.resolve(with: source) } }
    try await expectFulfillment(of: when.fulfill(1, following), with: 1)
    try await expectRejection(of: when.reject(Boom(), following), with: Boom())
  }

  @Test func awaitingABrokenGuarantee_isReported_andEndsNothing() async throws {
    await #expect(processExitsWith: .success) {
      let (stream, reports) = AsyncStream<String>.makeStream()
      var report = stream.makeAsyncIterator()
      PromiseDiagnostics.setUnhandledRejectionHandler { reports.yield("\($0.error)") }
      Task { _ = await Guarantee<Int>.withResolvers().guarantee.value }
      #expect(await report.next()?.contains("its resolver was dropped") == true)

      let guarantee = Guarantee<Void>.never
      guarantee.promise.cancel()
      Task { await guarantee.value }
      #expect(await report.next()?.contains("was cancelled") == true)
      await #expect(throws: CancellationError.self) { try await guarantee.promise.value }
    }
  }

  @Test func promiseOfAGuarantee_isOneConsumer() async throws {
    let (guarantee, first) = Guarantee<Void>.withResolvers()
    let other = guarantee.map { 7 }
    let view = guarantee.promise
    view.cancel()
    try await expectCancellation(of: view)
    first.fulfill()
    #expect(await other.value == 7)
    await guarantee.value

    let (only, resolver) = Guarantee<Int>.withResolvers()
    let isCancelled = CallCounter()
    resolver.onCancel { isCancelled.call() }
    only.promise.cancel()
    try isCancelled.expectOnce()
  }
}
