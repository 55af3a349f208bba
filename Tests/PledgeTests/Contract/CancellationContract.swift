@_spi(DropIns) import Pledge

/// Contract, lines 10 to 12; timeouts of the only consumer, and line 13, are in `Time`.
@Suite struct CancellationContract {
  @Test(arguments: Place.all)
  func line10_cancellationIsVisibleToCatchFinallyRecoverAndAwait(place: Place) async throws {
    let (seen, promise) = (Recorder<String>(), Promise<Int>.never)
    let finally = promise.finally(on: place.executor) {
      try place.probe.expectCurrent()
      seen.record("finally")
    }
    let recovered = finally.recover(on: place.executor) { error throws -> Promise<Int> in
      try place.probe.expectCurrent()
      if error is CancellationError { seen.record("recover") }
      throw error
    }
    let tapped = recovered.tap(on: place.executor) { result in
      if case .failure(is CancellationError) = result { seen.record("tap") }
    }
    let caught = tapped.catch(on: place.executor) { error in
      if error is CancellationError { seen.record("catch") }
    }
    tapped.cancel()
    await caught.value
    try seen.expect(["finally", "recover", "tap", "catch"])
    try await expectCancellation(of: tapped)
    try await expectCancellation(of: promise)
  }

  @Test func line11_cancel_climbsToTheProducer_whichIsToldOnce() async throws {
    let (promise, _, told) = Promise<Int>.withToldProducer()
    let last = promise.map { $0 + 1 }.then { Promise.value($0) }.get { _ in }
    last.cancel()
    last.cancel()
    try await expectCancellation(of: last)
    try await expectCancellation(of: promise)
    try told.expectOnce()
  }

  @Test func line11_oneOfTwoConsumersCancels_theOtherGetsItsValue() async throws {
    let (promise, resolver, told) = Promise<Int>.withToldProducer()
    let one = promise.map { $0 + 1 }, other = promise.map { $0 + 2 }
    one.cancel()
    try await expectCancellation(of: one)
    try expectPending(promise)
    try expectPending(other)
    resolver.fulfill(0)
    try await expectFulfillment(of: other, with: 2)
    try told.expectNever()
  }

  @Test func line11_allConsumersCancel_theProducerIsToldOnce() async throws {
    let (promise, _, told) = Promise<Int>.withToldProducer()
    let consumers = (0..<5).map { n in promise.map { $0 + n } }
    for consumer in consumers.dropLast() { consumer.cancel() }
    for consumer in consumers.dropLast() { consumer.cancel() }
    try expectPending(promise)
    try told.expectNever()
    consumers.last?.cancel()
    for consumer in consumers { try await expectCancellation(of: consumer) }
    try await expectCancellation(of: promise)
    try told.expectOnce()
  }

  @Test func line11_oneWaitersTimeout_sparesTheOthers() async throws {
    let clock = TestClock()
    let (promise, resolver) = Promise<Int>.withResolvers()
    let impatient = promise.timeout(after: .seconds(1), clock: clock)
    let patient = promise.map { $0 + 1 }
    await clock.advance(by: .seconds(1))
    try await expectRejection(of: impatient, with: TimeoutError.self)
    try expectPending(promise)
    resolver.fulfill(1)
    try await expectFulfillment(of: patient, with: 2)
  }

  @Test func line12_cancellingTheTask_abandonsTheWaitAtOnce() async throws {
    let (promise, _, told) = Promise<Int>.withToldProducer()
    let task = Task { try await promise.value }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await expectCancellation(of: promise)
    try told.expectOnce()
  }

  @Test func line12_anotherConsumerWaits_thePromiseGoesOn() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let other = promise.map { $0 + 1 }
    let task = Task { try await promise.value }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try expectPending(promise)
    resolver.fulfill(1)
    try await expectFulfillment(of: other, with: 2)
  }

  @Test func line12_taskCancelledBefore_abandonsToo() async throws {
    let promise = Promise<Int>.never
    let gate = Promise<Void>.withResolvers()
    let task = Task {
      _ = await gate.promise.uncancellable().result
      #expect(Task.isCancelled)
      return await promise.result
    }
    task.cancel()
    gate.resolver.fulfill()
    await #expect(throws: CancellationError.self) { try await task.value.get() }
    try await expectCancellation(of: promise)
  }

  @Test func line12_settledPromise_isReadEvenInACancelledTask() async throws {
    let task = Task { () -> Int in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await Promise.value(7).value
    }
    #expect(try await task.value == 7)
  }
}
