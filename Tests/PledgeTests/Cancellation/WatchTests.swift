/// `watch`: a handler that doesn't count as a consumer.
@Suite struct WatchTests {
  /// When the watcher is attached, relative to the consumers.
  enum Order: CaseIterable { case before, after, between }

  /// A shared promise with a watcher and two consumers.
  private struct Shared {
    let promise: Promise<Int>
    let resolver: Resolver<Int>
    let told: CallCounter
    let seen = Recorder<String>()
    let consumers: [Promise<Int>]

    init(_ order: Order, on executor: any PromiseExecutor = .immediate) {
      let (promise, resolver, told) = Promise<Int>.withToldProducer()
      (self.promise, self.resolver, self.told) = (promise, resolver, told)
      let watch = { [seen] in
        _ = promise.watch(on: executor) { result in seen.record("\(result)") }
      }
      if order == .before { watch() }
      let first = promise.map(on: .immediate) { $0 + 1 }
      if order == .between { watch() }
      consumers = [first, promise.map(on: .immediate) { $0 + 2 }]
      if order == .after { watch() }
    }
  }

  @Test(arguments: Order.allCases, [false, true])
  func allConsumersCancel_theProducerIsTold(order: Order, oldestFirst: Bool) throws {
    let shared = Shared(order)
    let leaving = oldestFirst ? shared.consumers : shared.consumers.reversed()
    leaving[0].cancel()
    try shared.told.expectNever()
    #expect(shared.seen.events.isEmpty)
    leaving[1].cancel()
    try shared.told.expectOnce()
    #expect(shared.seen.events == ["failure(Swift.CancellationError())"])
    #expect(shared.promise.state == "rejected: CancellationError()")
  }

  @Test(arguments: Order.allCases)
  func oneConsumerCancels_theOthersGetTheValue(order: Order) throws {
    let shared = Shared(order)
    shared.consumers[0].cancel()
    shared.resolver.fulfill(1)
    try shared.told.expectNever()
    #expect(shared.consumers[1].state == "fulfilled: 3")
    #expect(shared.seen.events == ["success(1)"])
  }

  @Test func soleConsumerOfAWatchedHandler_getsTheValue() {
    let seen = Recorder<Int>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    let middle = promise.map(on: .immediate) { $0 + 1 }
    middle.watch(on: .immediate) { result in seen.record((try? result.get()) ?? 0) }
    let last = middle.map(on: .immediate) { $0 + 1 }
    resolver.fulfill(1)
    #expect(last.state == "fulfilled: 3")
    #expect(seen.events == [2])
  }

  @Test func taskThatAwaitsIsCancelled_theProducerIsTold() async throws {
    let promise = Promise<Int>.never
    promise.watch(on: .immediate) { _ in }
    let task = Task { try await promise.value }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await expectCancellation(of: promise)
  }

  @Test(arguments: Place.all) func runsWhereItIsTold(place: Place) async throws {
    for when in When.allCases {
      let seen = Recorder<String>()
      when.fulfill(7) { promise in
        _ = promise.watch(on: place.executor) { result in
          seen.record(place.probe.isCurrent ? "\(result)" : "elsewhere")
        }
      }
      await seen.reaches(1).value
      #expect(seen.events == ["success(7)"])
    }
  }

  @MainActor @Test func runsWhereItWasWritten() async throws {
    var seen: [Int] = []
    let (promise, resolver) = Promise<Int>.withResolvers()
    promise.watch { result in seen.append((try? result.get()) ?? 0) }
    promise.watch { @MainActor result in seen.append((try? result.get()) ?? 0) }
    resolver.fulfill(1)
    try await waitUntil { seen.count == 2 }
    #expect(seen == [1, 1])
  }

  @Test func guarantee_isWatchedToo_alsoWhenItBreaks() {
    let seen = Recorder<String>()
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    guarantee.watch(on: .immediate) { seen.record("\($0)") }
    resolver.fulfill(1)
    let view = Guarantee<Int>.never
    view.watch(on: .immediate) { seen.record("\($0)") }
    view.promise.cancel()
    #expect(seen.events == ["success(1)", "failure(Swift.CancellationError())"])
  }

  /// The promise that a handler returned is watched while other consumers splice it out of the
  /// chain.
  @Test(arguments: [false, true]) func promiseInTheMiddleOfALoop_isWatched(isWatchedFirst: Bool) {
    let seen = Recorder<String>()
    let (inner, _, told) = Promise<Int>.withToldProducer()
    let middle = Promise.value(0).then(on: .immediate) { _ in inner }
    if isWatchedFirst { middle.watch(on: .immediate) { seen.record("\($0)") } }
    let outer = Promise.value(0).then(on: .immediate) { _ in middle }
    let outermost = Promise.value(0).then(on: .immediate) { _ in outer }
    if !isWatchedFirst { middle.watch(on: .immediate) { seen.record("\($0)") } }
    outermost.cancel()
    #expect(told.count == 1)
    #expect(seen.events == ["failure(Swift.CancellationError())"])
    #expect(inner.state == "rejected: CancellationError()")
  }
}
