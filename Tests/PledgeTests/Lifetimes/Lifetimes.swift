@_spi(DropIns) import Pledge

/// How a promise ends; a dropped resolver is one that the caller releases.
enum End: CaseIterable {
  case fulfilled, rejected, cancelled, dropped, abandoned

  func bring(about promise: Promise<Int>, _ resolver: Resolver<Int>) {
    switch self {
    case .fulfilled: resolver.fulfill(1)
    case .rejected: resolver.reject(Boom())
    case .cancelled: promise.cancel()
    case .dropped: break
    case .abandoned: resolver.abandon()
    }
  }
}

/// Every value, closure, and promise is released, whatever its result.
@Suite struct Lifetimes {
  let lifetimes = LifetimeTracker()

  /// Attaches a handler of every kind to `promise`; each captures a tracked object.
  private func attachAll(to promise: Promise<Int>, on executor: any PromiseExecutor) {
    let l = lifetimes
    func token(_ label: String) -> LifetimeTracker.Token { l.track(label) }
    promise.map(on: executor) { [t = token("map")] in $0 + t.label.count }.ignoreErrors()
    promise.compactMap { [t = token("compactMap")] in $0 + t.label.count }.ignoreErrors()
    promise.then(on: executor) { [t = token("then")] in Promise.value((t, $0)) }.ignoreErrors()
    promise.done(on: executor) { [t = token("done")] _ in _ = t }.ignoreErrors()
    promise.get { [t = token("get")] _ in _ = t }.ignoreErrors()
    promise.tap(on: executor) { [t = token("tap")] _ in _ = t }.ignoreErrors()
    promise.validate { [t = token("validate")] _ in t.label.isEmpty }.ignoreErrors()
    promise.finally(on: executor) { [t = token("finally")] in _ = t }.ignoreErrors()
    promise.finallyThen { [t = token("finally then")] in Promise.value(t) }.ignoreErrors()
    promise.recover(on: executor) { [t = token("recover")] _ in .value(t.label.count) }
      .ignoreErrors()
    promise.replaceError(only: Boom.self) { [t = token("only")] _ in t.label.count }.ignoreErrors()
    promise.catch(on: executor) { [t = token("catch")] _ in _ = t }
    promise.observe(on: executor) { [t = token("observe")] _ in _ = t }
    promise.watch(on: executor) { [t = token("watch")] _ in _ = t }
    promise.reduce(on: executor, [1, 2]) { [t = token("reduce")] a, b in
      .value(a + b + t.label.count)
    }.ignoreErrors()
    promise.map(on: executor) { [t = token("value")] _ in t }.map { $0 }.ignoreErrors()
  }

  @Test(arguments: When.allCases, Place.all)
  func afterSettlement(when: When, place: Place) async throws {
    when.fulfill(1) { attachAll(to: $0, on: place.executor) }
    when.reject { attachAll(to: $0, on: place.executor) }
    try await lifetimes.expectNoneAlive()
  }

  @Test(arguments: [End.cancelled, .dropped, .abandoned], Place.all)
  func afterAnEndWithoutAResult(end: End, place: Place) async throws {
    do {
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.onCancel { [t = lifetimes.track("onCancel")] in _ = t }
      attachAll(to: promise, on: place.executor)
      end.bring(about: promise, resolver)
    }
    try await lifetimes.expectNoneAlive()
  }

  @Test func afterAnExecutorDropsItsJobs() async throws {
    DiagnosticsLog.install()
    let executor = ManualExecutor()
    attachAll(to: .value(1), on: executor)
    executor.dropAll()
    executor.runAll()
    // `reduce` and `finally` continue with further handlers.
    executor.dropAll()
    try await lifetimes.expectNoneAlive()
  }

  @Test func closuresGoBeforeTheResultSettles() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let aliveAtSettlement = Box<Int>(-1)
    let l = lifetimes
    @Sendable func note() { aliveAtSettlement.value = max(aliveAtSettlement.value, l.liveCount) }
    promise.map(on: .immediate) { [t = l.track("map")] in $0 + t.label.count }
      .done(on: .immediate) { _ in note() }.ignoreErrors()
    promise.then(on: .immediate) { [t = l.track("then")] in .value($0 + t.label.count) }
      .done(on: .immediate) { _ in note() }.ignoreErrors()
    promise.tap(on: .immediate) { [t = l.track("tap")] _ in _ = t }
      .done(on: .immediate) { _ in note() }.ignoreErrors()
    promise.finally(on: .immediate) { [t = l.track("finally")] in _ = t }
      .done(on: .immediate) { _ in note() }.ignoreErrors()
    #expect(l.liveCount == 4)
    resolver.fulfill(1)
    // Handlers attached later still retain their objects: three when the first one settles.
    #expect(aliveAtSettlement.value == 3)
  }

  @Test func valuesLiveAsLongAsTheirPromise() async throws {
    var promise: Promise<LifetimeTracker.Token>? = .value(lifetimes.track("value"))
    #expect(lifetimes.liveCount == 1)
    var next = promise?.map(on: .immediate) { $0 }
    promise = nil
    #expect(lifetimes.liveCount == 1)
    _ = next
    next = nil
    try await lifetimes.expectNoneAlive()
  }
}
