/// The effects of cancellation that random programs, compared with a reference, don't contain.
@Suite struct Cancellation {
  @Test func producerThatReleasesItsResolverOnCancellation_notifiesEveryProducer() {
    let (events, producer) = (Recorder<String>(), Box<Resolver<Int>?>(nil))
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

  @Test func runningHandler_isNotInterrupted_andItsPromiseIsRejectedAfterwards() async throws {
    let (executor, box) = (ManualExecutor(), Box<Promise<Int>?>(nil))
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
  func combinatorsOfPromisesOneByOne_takeTheSameOptions(cancelling: Bool) async throws {
    let pending = (0..<3).map { _ in Promise<Int>.never }
    let race = Promise.race(.value(1), pending[0], cancellingLosers: cancelling)
    try await expectFulfillment(of: race, with: 1)
    let any = Promise.any(.rejected(Boom()), .value(1), pending[1], cancellingLosers: cancelling)
    try await expectFulfillment(of: any, with: 1)
    let all = Promise.all(Promise<String>.rejected(Boom()), pending[2], cancellingRest: cancelling)
    try await expectRejection(of: all.asVoid(), with: Boom())
    #expect(pending.map(\.isPending) == Array(repeating: !cancelling, count: 3))
  }

  @Test func cancellingAll_withdrawsFromAll_alsoOfSeveralTypes() async throws {
    let a = Promise<Int>.withResolvers(), b = Promise<String>.withResolvers()
    let all = Promise.all(a.promise, b.promise)
    all.cancel()
    try await expectCancellation(of: a.promise)
    try await expectCancellation(of: b.promise)
    try await expectRejection(of: all.asVoid(), with: CancellationError.self)
  }
}
