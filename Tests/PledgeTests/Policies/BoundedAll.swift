@_spi(DropIns) import Pledge

/// `all(_:concurrently:_:)`.
@Suite struct BoundedAll {
  /// Work that the test settles, and the number of operations in progress.
  final class Work: Sendable {
    private let resolvers = Mutex<[Int: Resolver<String>]>([:])
    let started = Recorder<Int>()
    let cancelled = Recorder<Int>()

    func start(_ n: Int) -> Promise<String> {
      let (promise, resolver) = Promise<String>.withResolvers()
      resolver.onCancel { [cancelled] in cancelled.record(n) }
      resolvers.withLock { $0[n] = resolver }
      started.record(n)
      return promise
    }

    func finish(_ n: Int, _ error: (any Error)? = nil) {
      guard let resolver = resolvers.withLock({ $0.removeValue(forKey: n) }) else { return }
      if let error { resolver.reject(error) } else { resolver.fulfill("\(n)") }
    }
  }

  let work = Work()

  @Test func startsLazily_inOrder_andKeepsTheOrderOfResults() async throws {
    let numbers = Numbers(taken: CallCounter(), last: 6)
    let all = Promise.all(on: .immediate, numbers, concurrently: 2) { [work] in work.start($0) }
    #expect(work.started.events == [1, 2])
    #expect(numbers.taken.count == 2)
    work.finish(2)
    #expect(work.started.events == [1, 2, 3])
    work.finish(3)
    work.finish(1)
    #expect(work.started.events == [1, 2, 3, 4, 5])
    for n in [5, 4, 6] { work.finish(n) }
    try await expectFulfillment(of: all, with: ["1", "2", "3", "4", "5", "6"])
  }

  @Test(arguments: [true, false])
  func failsFast_andTakesNoMore(cancellingRest: Bool) async throws {
    let all = Promise.all(
      on: .immediate, 0..<100, concurrently: 3, cancellingRest: cancellingRest
    ) { [work] in work.start($0) }
    work.finish(1, Boom())
    try await expectRejection(of: all, with: Boom())
    work.finish(0)
    #expect(work.started.events == [0, 1, 2])
    #expect(work.cancelled.events == (cancellingRest ? [0, 2] : []))
  }

  @Test(arguments: [true, false])
  func afterItsEnd_takesNoElementThatWasDue(cancelling: Bool) async throws {
    let executor = ManualExecutor()
    let all = Promise.all(on: executor, 0..<100, concurrently: 3) { [work] in work.start($0) }
    executor.runNext()
    #expect(work.started.events == [0])
    // There is room: the executor is about to start the next one.
    if cancelling {
      all.cancel()
      try await expectCancellation(of: all)
    } else {
      work.finish(0, Boom())
      try await expectRejection(of: all, with: Boom())
    }
    executor.runAll()
    #expect(work.started.events == [0])
  }

  @Test(arguments: Place.all) func transformRunsOnItsExecutor(place: Place) async throws {
    let all = Promise.all(on: place.executor, 0..<20, concurrently: 3) { n -> Promise<Int> in
      try place.probe.expectCurrent()
      return n % 2 == 0 ? .value(n) : When.later.fulfill(n) { $0 }
    }
    try await expectFulfillment(of: all, with: Array(0..<20))
  }

  @Test(.apart) func manyElements_settledAtOnce_needNoStack() async throws {
    let all = Promise.all(on: .immediate, 0..<20_000, concurrently: 4) { Promise.value($0) }
    try await expectFulfillment(of: all.map { $0.count }, with: 20_000)
  }

  /// More elements than the values' memory has in one piece.
  @Test(arguments: [nil, 150]) func values_areReleased(failing: Int?) async throws {
    let lifetimes = LifetimeTracker()
    do {
      let all = Promise.all(on: .immediate, 0..<200, concurrently: 3) { n in
        if n == failing { throw Boom() }
        return Promise.value(lifetimes.track("\(n)"))
      }
      if failing == nil {
        #expect(try await all.value.map(\.label) == (0..<200).map { "\($0)" })
      } else {
        try await expectRejection(of: all, with: Boom())
      }
    }
    #expect(lifetimes.madeCount == failing ?? 200)
    try await lifetimes.expectNoneAlive()
  }

  @Test func asyncSequence_isTakenAsThereIsRoom() async throws {
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let all = Promise.all(stream, concurrently: 2) { [work] in work.start($0) }
    for n in 0..<4 { continuation.yield(n) }
    continuation.finish()
    await work.started.reaches(2).value
    work.finish(0)
    await work.started.reaches(3).value
    work.finish(2)
    await work.started.reaches(4).value
    work.finish(3)
    work.finish(1)
    try await expectFulfillment(of: all, with: ["0", "1", "2", "3"])
    #expect(work.started.events == [0, 1, 2, 3])
  }

  /// The sequence may never have another element.
  @Test(arguments: [End.rejected, .abandoned, .cancelled])
  func asyncSequence_isNotAwaited_afterTheEnd(end: End) async throws {
    let elements = OneElement()
    let (element, resolver) = Promise<Int>.withResolvers()
    let all = Promise.all(elements, concurrently: 2) { _ in element }
    await elements.awaited.reaches(1).value
    if end == .cancelled { all.cancel() } else { end.bring(about: element, resolver) }
    await elements.left.reaches(1).value
    switch end {
    case .cancelled:
      try await expectCancellation(of: all)
      try await expectCancellation(of: element)
    case .rejected: try await expectRejection(of: all, with: Boom())
    default: #expect(all.isPending)
    }
  }
}

/// A sequence of one element whose end doesn't come.
struct OneElement: AsyncSequence, Sendable {
  /// That the second element is awaited, and that it is no longer.
  let awaited = Recorder<Int>(), left = Recorder<Int>()

  struct AsyncIterator: AsyncIteratorProtocol {
    let sequence: OneElement
    var isFirst = true

    mutating func next() async throws -> Int? {
      if isFirst {
        isFirst = false
        return 1
      }
      defer { sequence.left.record(2) }
      sequence.awaited.record(2)
      try await Promise<Void>.never.value
      return nil
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sequence: self) }
}

/// Closures that return a guarantee, or a promise type of the program, in place of a promise.
@Suite struct ThenableOperations {
  @Test func boundedAll_waitsForGuarantees() async throws {
    let (gate, open) = Promise<Int>.withResolvers()
    let all = Promise.all([1, 2], concurrently: 2) { number in
      gate.map(on: .immediate) { $0 + number }.replaceError { _ in 0 }
    }
    #expect(all.isPending)
    open.fulfill(10)
    try await expectFulfillment(of: all, with: [11, 12])
  }

  @Test func boundedAll_ofAnAsyncSequence_waitsForGuarantees() async throws {
    let numbers = AsyncStream { continuation in
      continuation.yield(1)
      continuation.yield(2)
      continuation.finish()
    }
    let all = Promise.all(numbers, concurrently: 1) { number in Guarantee.value(number * 2) }
    try await expectFulfillment(of: all, with: [2, 4])
  }

  @Test func limiter_countsAGuarantee_untilItIsFulfilled() async throws {
    let limiter = Limiter(1)
    let (gate, open) = Promise<Int>.withResolvers()
    let first = limiter.run { gate.replaceError { _ in 0 } }
    let second = limiter.run { Guarantee.value(2) }
    #expect(first.isPending)
    #expect(second.isPending)
    open.fulfill(1)
    try await expectFulfillment(of: first, with: 1)
    try await expectFulfillment(of: second, with: 2)
  }
}
