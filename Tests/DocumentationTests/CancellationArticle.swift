import Pledge
import PledgeTesting
import Testing

// The examples of Cancellation.md, and tests of what it says.

private func cancelling() {
  let page = downloadPage(from: "mirror-1").map { page in page.text }
  page.cancel()
}

private struct Producer {
  func downloadPage(from mirror: String) -> Promise<Page> {
    Promise { resolver in
      let transfer = Transfer(of: mirror) { result in resolver.resolve(result) }
      resolver.onCancel { transfer.stop() }
      transfer.start()
    }
  }
}

private func cancellingATask() -> Promise<Int> {
  let slow = Promise {
    try await Task.sleep(for: .seconds(3600))
    return 1
  }
  slow.cancel()

  return slow
}

private func sharing() {
  let user = fetchUser(id: 7)
  let name = user.map { user in user.name }
  let avatar = user.then { user in fetchAvatar(of: user) }

  // The name isn't needed anymore. `user` continues, for the avatar.
  name.cancel()

  _ = avatar
}

private func watching() {
  let request = fetchUser(id: 7)
  request.watch { result in print("user 7: \(result)") }
}

private func shielding() {
  let shared = fetchUser(id: 7)
  let forOthers = shared.uncancellable()

  _ = forOthers
}

private func combining() {
  let fastest = Promise.race(
    [downloadPage(from: "mirror-1"), downloadPage(from: "mirror-2")], cancellingLosers: false)
  let both = Promise.all(
    [downloadPage(from: "part-1"), downloadPage(from: "part-2")], cancellingRest: true)

  _ = (fastest, both)
}

private func awaiting() {
  let user = fetchUser(id: 7)
  let task = Task { try await user.value }
  task.cancel()
}

private func cancellingAGuarantee() -> Promise<Void> {
  let pause = Guarantee<Void> { try? await Task.sleep(for: .seconds(60)) }.promise
  pause.cancel()

  return pause
}

@Suite struct CancellationArticle {
  /// A pending promise, and how often its producer was told to stop.
  private struct Work {
    let promise: Promise<Int>
    let resolver: Resolver<Int>
    let stops = CallCounter()

    init() {
      (promise, resolver) = Promise<Int>.withResolvers()
      resolver.onCancel { [stops] in _ = stops.call() }
    }
  }

  @Test func request_climbsAndRejectionFlowsDown() async throws {
    let work = Work()
    let cleanUp = CallCounter()
    let chain = work.promise.map { $0 + 1 }.finally { _ = cleanUp.call() }
    chain.cancel()
    try await expectCancellation(of: chain)
    try await expectCancellation(of: work.promise)
    try work.stops.expectOnce()
    try cleanUp.expectOnce()
  }

  @Test func producerThatStops_mayRejectByItself() async throws {
    let page = Producer().downloadPage(from: "mirror")
    page.cancel()
    try await expectCancellation(of: page)
  }

  @Test @MainActor func isolatedHandler_runsOnItsActorAfterTheRejection() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (isolated, immediate) = (CallCounter(), CallCounter())
    var stops = 0
    resolver.onCancel {
      stops += 1
      isolated.call()
    }
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let stop: @Sendable () -> Void = { immediate.call() }
    otherResolver.onCancel(stop)
    promise.cancel()
    other.cancel()
    #expect(stops == 0 && !promise.isPending)
    try immediate.expectOnce()
    try await waitUntil { isolated.count > 0 }
    #expect(stops == 1)
    try await expectCancellation(of: promise)
  }

  @Test func asynchronousClosure_isCancelled() async throws {
    try await expectCancellation(of: cancellingATask())
  }

  @Test func sharedPromise_isCancelledWithItsLastConsumer() async throws {
    let work = Work()
    let first = work.promise.map { $0 + 1 }
    let second = work.promise.map { $0 + 2 }
    first.cancel()
    try await expectCancellation(of: first)
    try work.stops.expectNever()
    #expect(second.isPending && work.promise.isPending)
    second.cancel()
    try await expectCancellation(of: second)
    try work.stops.expectOnce()
  }

  @Test func watcher_isNoConsumer_andTapIsOne() async throws {
    let work = Work()
    let seen = CallCounter()
    work.promise.watch { _ in seen.call() }
    let only = work.promise.map { $0 + 1 }
    only.cancel()
    try await expectCancellation(of: only)
    try work.stops.expectOnce()
    try await waitUntil { seen.count > 0 }

    let tapped = Work()
    tapped.promise.tap { _ in }.ignoreErrors()
    let other = tapped.promise.map { $0 + 1 }
    other.cancel()
    try await expectCancellation(of: other)
    try expectPending(tapped.promise)
  }

  @Test func uncancellable_leavesThePromiseAlone() async throws {
    let work = Work()
    let shielded = work.promise.uncancellable()
    shielded.cancel()
    try await expectCancellation(of: shielded)
    work.resolver.fulfill(1)
    try await expectFulfillment(of: work.promise, with: 1)
    try work.stops.expectNever()
  }

  @Test func promiseThatWasDropped_isNotCancelled() async throws {
    let work = Work()
    let ran = Recorder<Int>()
    do { _ = work.promise.get { ran.record($0) } }
    work.resolver.fulfill(1)
    await ran.reaches(1).value
    try work.stops.expectNever()
  }

  @Test func promiseReturnedFromThen_isCancelled() async throws {
    let work = Work()
    let entered = Recorder<Void>()
    let chain = Promise.value(1).then { [promise = work.promise] _ in
      entered.record(())
      return promise
    }
    await entered.reaches(1).value
    chain.cancel()
    try await expectCancellation(of: chain)
    try await expectCancellation(of: work.promise)
    try work.stops.expectOnce()
  }

  @Test func losersOfARace_areCancelledUnlessToldOtherwise() async throws {
    let loser = Work()
    try await expectFulfillment(of: Promise.race([loser.promise, .value(7)]), with: 7)
    try await expectCancellation(of: loser.promise)

    let spared = Work()
    let race = Promise.race([spared.promise, .value(7)], cancellingLosers: false)
    try await expectFulfillment(of: race, with: 7)
    try expectPending(spared.promise)
  }

  @Test func restOfAll_isCancelledIfAskedFor() async throws {
    let rest = Work()
    let failing = Promise.all([rest.promise, .rejected(Offline())])
    try await expectRejection(of: failing, with: Offline.self)
    try expectPending(rest.promise)

    let cancelled = Promise.all([rest.promise, .rejected(Offline())], cancellingRest: true)
    try await expectRejection(of: cancelled, with: Offline.self)
  }

  @Test func timeout_withdrawsFromThePromise() async throws {
    let work = Work()
    let clock = TestClock()
    let limited = work.promise.timeout(after: .milliseconds(5), clock: clock)
    await clock.run(until: limited)
    try await expectRejection(of: limited, with: TimeoutError.self)
    try await waitUntil { work.stops.count > 0 }
    try work.stops.expectOnce()
  }

  @Test func cancelledTask_abandonsItsWait() async throws {
    let work = Work()
    let task = Task { [promise = work.promise] in try await promise.value }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await expectCancellation(of: work.promise)

    let spared = Work()
    let other = Task { [promise = spared.promise] in try await promise.uncancellable().value }
    other.cancel()
    await #expect(throws: CancellationError.self) { try await other.value }
    try expectPending(spared.promise)
  }

  @Test func guarantee_isBrokenByTheCancellationOfItsPromise() async throws {
    // In a process of its own, as other tests count the timers of theirs.
    await #expect(processExitsWith: .success) {
      try await expectCancellation(of: cancellingAGuarantee())
    }
    let cleanUp = CallCounter()
    let never = CallCounter()
    let (pending, resolver) = Guarantee<Void>.withResolvers()
    let chain =
      pending
      .map { never.call() }
      .finally { _ = cleanUp.call() }
      .promise
    chain.cancel()
    try await expectCancellation(of: chain)
    try cleanUp.expectOnce()
    try never.expectNever()
    withExtendedLifetime(resolver) {}
  }
}
