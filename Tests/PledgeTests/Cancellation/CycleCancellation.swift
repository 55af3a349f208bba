/// Cancelling promises that wait for promises made from themselves.
@Suite struct CycleCancellation {
  let lifetimes = LifetimeTracker()

  /// How a promise waits for one that is made from the next promise of the cycle.
  enum Link: CaseIterable {
    case then, recover, finallyThen, onQueue, afterMaps

    func callAsFunction(
      _ start: Promise<Int>, _ next: @escaping @Sendable () -> Promise<Int>
    ) -> Promise<Int> {
      switch self {
      case .then: start.then(on: .immediate) { _ in next().map(on: .immediate) { $0 } }
      case .recover:
        start.map(on: .immediate) { _ in throw Boom() }
          .recover(on: .immediate) { _ in next().map(on: .immediate) { $0 } }
      case .finallyThen:
        start.finallyThen { next().done { _ in } }
      case .onQueue:
        start.then(on: .global) { _ in next().map(on: .global) { $0 } }
      case .afterMaps:
        start.then(on: .immediate) { _ in next().map(on: .immediate) { $0 } }
          .map(on: .immediate) { $0 }
          .finally(on: .immediate) {}
      }
    }
  }

  /// Not a cycle: the second request follows promises that the first one has marked.
  @Test func secondRequest_whenTheSourceHasAnotherConsumer_leavesTheRestWaiting() async throws {
    let executor = ManualExecutor()
    let source = Promise<Int>.never.recover(on: executor) { _ in .value(2) }
    let adopting = Promise<Int>.value(0).then(on: .immediate) { _ in source }
    let first = adopting.map(on: .immediate) { $0 }
    let second = Promise<Int>.value(0).then(on: .immediate) { _ in first }
    first.cancel()
    let consumer = source.map(on: .immediate) { $0 }
    second.cancel()
    #expect(adopting.isPending && first.isPending && second.isPending)
    executor.runAll()
    for promise in [adopting, first, second, consumer] { try await expectCancellation(of: promise) }
  }

  /// Creates promises, each of which waits for one that is made from the next after it has started.
  private func cycle(of count: Int, _ link: Link) -> ([Promise<Int>], start: @Sendable () -> Void) {
    let promises = Box<[Promise<Int>]>([])
    let starts = (0..<count).map { _ in Promise<Int>.withResolvers() }
    promises.value = starts.enumerated().map { index, start in
      let token = lifetimes.track("\(index)")
      return link(start.promise) {
        withExtendedLifetime(token) { promises.value[(index + 1) % count] }
      }
    }
    return (promises.value, { for start in starts { start.resolver.fulfill(1) } })
  }

  /// When promises of a cycle are cancelled.
  enum Moment: CaseIterable {
    case beforeItIsClosed, whileItIsClosed, afterItIsClosed, byTwoThreads
  }

  @Test(arguments: Link.allCases, Moment.allCases)
  func cycleThatIsCancelled_isRejected(link: Link, moment: Moment) async throws {
    let isRace = moment == .whileItIsClosed || moment == .byTwoThreads
    for count in 1...3 {
      for round in 0..<(isRace ? isFullRun ? 20_000 : 100 : count) {
        let (all, start) = cycle(of: count, link)
        switch moment {
        case .beforeItIsClosed:
          all[round].cancel()
          start()
        case .whileItIsClosed:
          DispatchQueue.concurrentPerform(iterations: 2) { $0 == 0 ? start() : all[0].cancel() }
        case .afterItIsClosed:
          start()
          for promise in all { #expect(promise.isPending) }
          all[round].cancel()
        case .byTwoThreads:
          start()
          DispatchQueue.concurrentPerform(iterations: 2) { all[$0 * (count - 1)].cancel() }
        }
        for promise in all { try await expectCancellation(of: promise) }
      }
    }
    try await lifetimes.expectNoneAlive()
  }

  @Test func cycleWithAnotherConsumer_rejectsItWhenCancelled() async throws {
    let (all, start) = cycle(of: 2, .then)
    start()
    let consumer = all[1].map { $0 }
    all[0].cancel()
    try await expectCancellation(of: consumer)
    try await lifetimes.expectNoneAlive()
  }

  @Test func cancelledConsumerOfACycle_leavesTheCyclePending() async throws {
    let (all, start) = cycle(of: 2, .then)
    start()
    let consumer = all[1].map { $0 }
    consumer.cancel()
    try await expectCancellation(of: consumer)
    for promise in all { #expect(promise.isPending) }
    all[1].cancel()
    try await expectCancellation(of: all[0])
  }
}
