import Dispatch
import Pledge
import PledgeTesting
import Testing

/// The effects of cancellation on producers, handlers, and other consumers.
@Suite struct Cancellation {
  @Test func producerThatReleasesItsResolverOnCancellation_notifiesEveryProducer() {
    let events = Recorder<String>()
    let producer = Box<Resolver<Int>?>(nil)
    let promise = Promise<Int> { producer.value = $0 }
    for name in ["first", "second"] {
      producer.value?.onCancel {
        producer.value = nil
        events.record(name)
      }
    }
    let end = promise.finally(on: .immediate) { events.record("settled") }
    end.cancel()
    #expect(events.events == ["first", "second", "settled"])
    #expect(end.state == "rejected: CancellationError()")
  }

  @Test func onCancel_thenCancel_isCalledOnce_inOrder() {
    let order = Recorder<Int>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel { order.record(1) }
    resolver.onCancel { order.record(2) }
    promise.cancel()
    promise.cancel()
    #expect(order.events == [1, 2])
    #expect(promise.isCancelled)
  }

  @Test(arguments: [true, false])
  func errorOfAPromiseThatIsCancelled_isReportedIfItCameFirst(errorFirst: Bool) {
    DiagnosticsLog.install()
    let error = Boom(code: errorFirst ? 7_311 : 7_312)
    do {
      let (promise, resolver) = Promise<Int>.withResolvers()
      if errorFirst { resolver.reject(error) } else { resolver.onCancel { resolver.reject(error) } }
      promise.cancel()
    }
    #expect(DiagnosticsLog.reports(of: error).count == (errorFirst ? 1 : 0))
  }

  @Test func errorOfASharedPromise_isReportedIfOneOfItsConsumersIsCancelled() {
    DiagnosticsLog.install()
    let error = Boom(code: 7_313)
    do {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let (first, second) = (promise.map(on: .immediate) { $0 }, promise.map(on: .immediate) { $0 })
      first.cancel()
      resolver.reject(error)
      withExtendedLifetime(second) {}
    }
    #expect(DiagnosticsLog.reports(of: error).count == 1)
  }

  @Test func catchOnAQueue_runsThere_alsoWhenCancelMeetsAValue() async throws {
    let place = Place.serialQueue
    for round in 0..<2_000 {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let strays = CallCounter()
      let caught = promise.catch(on: place.executor) { _ in
        if !place.probe.isCurrent { strays.call() }
      }
      let other = promise.map(on: .immediate) { $0 }
      DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == round % 2 { caught.promise.cancel() } else { resolver.fulfill(1) }
      }
      try await waitForPromises(other, caught.promise)
      #expect(strays.count == 0)
    }
  }

  @Test func onCancelAfterSettlement_isReleasedUnused() async throws {
    let told = CallCounter()
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.fulfill(1)
    resolver.onCancel { told.call() }
    promise.cancel()
    #expect(promise.state == "fulfilled: 1")
    try told.expectNever()
    #expect(!promise.isCancelled)
  }

  @Test func onCancelHandler_maySettleThePromiseOtherwise() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel { [weak resolver] in resolver?.fulfill(7) }
    promise.cancel()
    try await expectFulfillment(of: promise, with: 7)
  }

  @Test func handlersThatWaitForTheirExecutor_doNotRunOnceCancelled() async throws {
    let executor = ManualExecutor()
    let ran = CallCounter()
    let mapped = Promise.value(1).map(on: executor) { value in
      ran.call()
      return value
    }
    #expect(executor.count == 1)
    mapped.cancel()
    executor.runAll()
    try await expectCancellation(of: mapped)
    try ran.expectNever()
  }

  @Test func runningHandler_isNotInterrupted_andItsPromiseIsRejectedAfterwards() async throws {
    let executor = ManualExecutor()
    let box = Box<Promise<Int>?>(nil)
    let mapped = Promise.value(1).map(on: executor) { value in
      box.value?.cancel()
      #expect(box.value?.isCancelled == true)
      return value
    }
    box.value = mapped
    executor.runAll()
    try await expectCancellation(of: mapped)
    box.value = nil
  }

  @Test func uncancellable_shieldsSharedWork() async throws {
    let told = CallCounter()
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel { told.call() }
    let shielded = promise.uncancellable()
    let last = shielded.map { $0 }
    last.cancel()
    try await expectCancellation(of: last)
    try await expectCancellation(of: shielded)
    try expectPending(promise)
    try told.expectNever()
    resolver.fulfill(1)
    try await expectFulfillment(of: promise, with: 1)
  }

  @Test func losersOfARace_areCancelledUnlessShared() async throws {
    let told = CallCounter()
    let (loser, loserResolver) = Promise<Int>.withResolvers()
    loserResolver.onCancel { told.call() }
    let (shared, sharedResolver) = Promise<Int>.withResolvers()
    let other = shared.map { $0 }
    let (winner, winnerResolver) = Promise<Int>.withResolvers()
    let race = Promise.race([loser, shared, winner])
    winnerResolver.fulfill(1)
    try await expectFulfillment(of: race, with: 1)
    try await expectCancellation(of: loser)
    try told.expectOnce()
    try expectPending(shared)
    sharedResolver.fulfill(2)
    try await expectFulfillment(of: other, with: 2)
  }

  @Test(arguments: [true, false])
  func losersOfARaceDecidedAtOnce_areCancelledWhenWanted(cancelling: Bool) async throws {
    let (early, earlyResolver) = Promise<Int>.withResolvers()
    let (late, lateResolver) = Promise<Int>.withResolvers()
    let race = Promise.race([early, .value(1), late], cancellingLosers: cancelling)
    try await expectFulfillment(of: race, with: 1)
    #expect(early.isPending == !cancelling)
    #expect(late.isPending == !cancelling)
    _ = (earlyResolver, lateResolver)
  }

  @Test(arguments: [true, false])
  func keptLoser_isNotDesertedWhenItsOtherConsumerCancels(decidedAtOnce: Bool) async throws {
    let (loser, resolver) = Promise<Int>.withResolvers()
    let (winner, winnerResolver) = Promise<Int>.withResolvers()
    if decidedAtOnce { winnerResolver.fulfill(1) }
    let race = Promise.race([winner, loser], cancellingLosers: false)
    winnerResolver.fulfill(1)
    try await expectFulfillment(of: race, with: 1)
    loser.map(on: .immediate) { $0 }.cancel()
    try expectPending(loser)
    resolver.fulfill(2)
    try await expectFulfillment(of: loser, with: 2)
  }

  @Test(arguments: [true, false])
  func restOfAFailedAll_isCancelledWhenWanted(cancelling: Bool) async throws {
    let a = Promise<Int>.withResolvers(), b = Promise<Int>.withResolvers()
    let all = Promise.all([a.promise, b.promise], cancellingRest: cancelling)
    a.resolver.reject(Boom())
    try await expectRejection(of: all, with: Boom())
    #expect(b.promise.isPending == !cancelling)
  }

  @Test(arguments: [true, false])
  func combinatorsOfPromisesOneByOne_takeTheSameOptions(cancelling: Bool) async throws {
    for start in 0..<3 {
      let (pending, resolver) = Promise<Int>.withResolvers()
      switch start {
      case 0:
        let race = Promise.race(.value(1), pending, cancellingLosers: cancelling)
        try await expectFulfillment(of: race, with: 1)
      case 1:
        let any = Promise.any(.rejected(Boom()), .value(1), pending, cancellingLosers: cancelling)
        try await expectFulfillment(of: any, with: 1)
      default:
        let all = Promise.all(
          Promise<String>.rejected(Boom()), pending, cancellingRest: cancelling)
        try await expectRejection(of: all.asVoid(), with: Boom())
      }
      #expect(pending.isPending == !cancelling)
      withExtendedLifetime(resolver) {}
    }
  }

  @Test func cancellingAll_withdrawsFromAll_alsoOfSeveralTypes() async throws {
    let a = Promise<Int>.withResolvers(), b = Promise<String>.withResolvers()
    let all = Promise.all(a.promise, b.promise)
    all.cancel()
    try await expectCancellation(of: a.promise)
    try await expectCancellation(of: b.promise)
    try await expectRejection(of: all.asVoid(), with: CancellationError.self)
  }

  @Test func cancellingBoundedAll_sparesWhatOthersShare() async throws {
    let (shared, resolver) = Promise<Int>.withResolvers()
    let other = shared.map { $0 + 1 }
    let all = Promise.all(on: .immediate, [1], concurrently: 1) { _ in shared }
    all.cancel()
    try await expectCancellation(of: all)
    try expectPending(shared)
    resolver.fulfill(1)
    try await expectFulfillment(of: other, with: 2)
  }
}
