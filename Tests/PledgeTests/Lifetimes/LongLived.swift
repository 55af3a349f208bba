@testable import Pledge

/// The memory that thousands of removed consumers leave on a long-lived promise is bounded.
@Suite(.apart) struct LongLived {
  let lifetimes = LifetimeTracker()
  let longLived = Promise<Int>.withResolvers()
  let rounds = 10_000
  /// The number of removed observers that may remain until the next sweep.
  let slack = 64

  init() {
    // It always has a consumer.
    longLived.promise.done(on: .immediate) { _ in }.ignoreErrors()
  }

  /// Something that waits for it, and ends before it settles.
  enum Consumer: CaseIterable {
    case race, raceThatKeepsLosers, all, allThatKeepsTheRest, chain, adoption
  }

  private func comeAndGo(_ consumer: Consumer) {
    let token = lifetimes.track("\(consumer)")
    switch consumer {
    case .race, .raceThatKeepsLosers:
      let (quick, resolver) = Promise<Int>.withResolvers()
      Promise.race([longLived.promise, quick], cancellingLosers: consumer == .race)
        .done(on: .immediate) { _ in _ = token }.ignoreErrors()
      resolver.fulfill(1)
    case .all, .allThatKeepsTheRest:
      let (quick, resolver) = Promise<Int>.withResolvers()
      Promise.all([longLived.promise, quick], cancellingRest: consumer == .all)
        .catch(on: .immediate) { _ in _ = token }
      resolver.reject(Boom())
    case .chain:
      longLived.promise.map(on: .immediate) { value in (token, value) }
        .map(on: .immediate) { $0.1 }.cancel()
    case .adoption:
      let outer = Promise.value(1).then(on: .immediate) { [longLived] _ in longLived.promise }
        .map(on: .immediate) { value in (token, value) }.asVoid()
      outer.cancel()
      #expect(!outer.isPending)
    }
  }

  @Test(arguments: Consumer.allCases) func consumersThatComeAndGo(consumer: Consumer) async throws {
    for _ in 0..<rounds {
      comeAndGo(consumer)
      #expect(lifetimes.liveCount <= slack)
    }
    try expectPending(longLived.promise)
    longLived.resolver.fulfill(1)
    try await lifetimes.expectNoneAlive()
  }

  @Test func racesForAPromiseWithoutOtherConsumers_areReleased_evenTheFirst() throws {
    let promise = Promise<LifetimeTracker.Token>.never
    let first = LifetimeTracker()
    Promise.race([promise, .value(first.track("first"))], cancellingLosers: false).ignoreErrors()
    for _ in 0..<100 {
      let (quick, quickResolver) = Promise<LifetimeTracker.Token>.withResolvers()
      Promise.race([promise, quick], cancellingLosers: false).ignoreErrors()
      quickResolver.fulfill(lifetimes.track("later"))
    }
    #expect(first.liveCount == 0)
    #expect(lifetimes.liveCount <= slack)
    try expectPending(promise)
  }

  @Test func tasksOfACoalescersWork_thatStartTheNext_rememberOnlyWhatHasNotEnded() async throws {
    let (requests, counts) = (RequestCoalescer<Int, Int>(), Recorder<Int>())
    // On the main actor, so that each task starts after the work that started it has ended.
    @MainActor func load(_ number: Int) {
      requests.promise(for: number) { () -> Promise<Int> in
        counts.record(
          sequence(first: CoalescedWork.current) { $0.outer }.count { $0 !== CoalescedWork.none })
        if number < 100 { Task { @MainActor in load(number + 1) } }
        return .value(number)
      }.ignoreErrors()
    }
    await load(1)
    try await expectFulfillment(of: counts.reaches(100).promise)
    #expect(counts.events == Array(repeating: 1, count: 100))
  }

  @Test func awaitsThatAreCancelled() async throws {
    for _ in 0..<1_000 {
      let task = Task { [longLived, token = lifetimes.track("await")] in
        _ = token
        return try await longLived.promise.value
      }
      task.cancel()
      _ = await task.result
    }
    try expectPending(longLived.promise)
    longLived.resolver.fulfill(1)
    try await lifetimes.expectNoneAlive()
  }

  @Test func timeoutsOfIt() async throws {
    let clock = TestClock()
    for _ in 0..<200 {
      let token = lifetimes.track("timeout")
      let late = longLived.promise.map(on: .immediate) { value in (token, value) }.asVoid()
        .timeout(after: .seconds(1), clock: clock)
      await clock.sleepers(atLeast: 1)
      await clock.advance(by: .seconds(1))
      try await expectRejection(of: late, with: TimeoutError.self)
      #expect(lifetimes.liveCount <= slack)
    }
    try expectPending(longLived.promise)
  }

  @Test func followersThatWereSettledOtherwise() async throws {
    for _ in 0..<rounds {
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.resolve(with: longLived.promise)
      promise.done(on: .immediate) { [token = lifetimes.track("follower")] _ in _ = token }
        .ignoreErrors()
      resolver.fulfill(1)
    }
    #expect(lifetimes.liveCount <= slack)
    #expect(observerCount(of: longLived.promise) <= slack)
    try expectPending(longLived.promise)
  }

  // The newest observer is always live, so those below it can't be popped one by one.
  @Test func observersBelowALivingOne_areBounded() async throws {
    var newest = longLived.promise.map(on: .immediate) { $0 }
    for _ in 0..<rounds {
      let next = longLived.promise.map(on: .immediate) { $0 }
      newest.cancel()
      newest = next
    }
    #expect(observerCount(of: longLived.promise) <= slack)
  }

  // More observers than the count of removed observers can hold, and even more live ones.
  @Test func removedObserversAmongManyLivingOnes_areCountedCorrectly() async throws {
    let promise = Promise<Int>.never
    let living = (0..<10_000).map { _ in promise.map(on: .immediate) { $0 } }
    let removed = (0..<9_000).map { _ in promise.map(on: .immediate) { $0 } }
    let last = promise.map(on: .immediate) { $0 }
    for consumer in removed + living { consumer.cancel() }
    try expectPending(promise)
    last.cancel()
    #expect(promise.state == "rejected: \(CancellationError())")
  }

  private func observerCount(of promise: Promise<Int>) -> Int { promise.cell.consumerCount }
}
