/// `ElementReader`, `allValues`, and `forEach` of asynchronous sequences; promises as a sequence.
@Suite struct AsyncSequenceTests {
  @Test func reader_asksForNothingBeforeItsFirstCall_andForOneElementACall() async throws {
    let asked = Recorder<Int>()
    let numbers = AsyncStream<Int> {
      asked.record(asked.count)
      return asked.count <= 3 ? asked.count : nil
    }
    let reader = ElementReader(numbers)
    #expect(asked.count == 0)
    try await expectFulfillment(of: reader.next(), with: 1)
    #expect(asked.count == 1)
    let rest = Promise.all([reader.next(), reader.next(), reader.next(), reader.next()])
    try await expectFulfillment(of: rest, with: [2, 3, nil, nil])
  }

  @Test func firstElement_needsNoVariable_andReleasesTheSequence() async throws {
    let lifetimes = LifetimeTracker()
    func numbers() -> AsyncStream<Int> {
      let token = lifetimes.track("sequence")
      return AsyncStream { withExtendedLifetime(token) { 7 } }
    }
    try await expectFulfillment(of: ElementReader(numbers()).next(), with: 7)
    try await lifetimes.expectNoneAlive()
  }

  @Test func cancelledCall_leavesItsElementToTheNext() async throws {
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let asked = Recorder<Void>()
    let reader = ElementReader(
      stream.map { number in
        asked.record(())
        return number
      })
    continuation.yield(0)
    try await expectFulfillment(of: reader.next(), with: 0)
    let cancelled = reader.next()
    let waiting = reader.next()
    cancelled.cancel()
    try await expectCancellation(of: cancelled)
    try expectPending(waiting)
    continuation.yield(1)
    continuation.yield(2)
    try await expectFulfillment(of: waiting, with: 1)
    try await expectFulfillment(of: reader.next(), with: 2)
    continuation.finish()
    try await expectFulfillment(of: reader.next(), with: nil)
  }

  @Test func releasedReader_endsTheSequence_onceItsPromisesAreCancelled() async throws {
    let (asked, ended) = (Recorder<Void>(), Recorder<Void>())
    let stream = AsyncStream<Int> {
      asked.record(())
      return try? await Promise<Int>.never.value
    } onCancel: {
      ended.record(())
    }
    let pending = ElementReader(stream).next()
    await asked.reaches(1).value
    try expectPending(pending)
    #expect(ended.count == 0)
    pending.cancel()
    await ended.reaches(1).value
  }

  @Test func error_rejects() async throws {
    func failing() -> AsyncThrowingStream<Int, any Error> {
      AsyncThrowingStream { continuation in
        continuation.yield(1)
        continuation.finish(throwing: Boom())
      }
    }
    let reader = ElementReader(failing())
    try await expectFulfillment(of: reader.next(), with: 1)
    try await expectRejection(of: reader.next(), with: Boom())
    try await expectFulfillment(of: reader.next(), with: nil)
    try await expectRejection(of: failing().allValues(), with: Boom())
    try await expectRejection(of: failing().forEach { _ in Promise() }, with: Boom())
  }

  @Test func allValues_areInOrder_andCancellable() async throws {
    let numbers = AsyncStream<Int> { continuation in
      for number in 0..<1000 { continuation.yield(number) }
      continuation.finish()
    }
    try await expectFulfillment(of: numbers.allValues(), with: Array(0..<1000))

    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let ended = Recorder<Void>()
    continuation.onTermination = { _ in ended.record(()) }
    let endless = stream.allValues()
    endless.cancel()
    try await expectCancellation(of: endless)
    await ended.reaches(1).value
  }

  @Test(arguments: [1, 3]) func forEach_keepsItsBound(limit: Int) async throws {
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let started = Recorder<Resolver<Void>>()
    let all = stream.forEach(concurrently: limit) { _ in
      Promise { resolver in started.record(resolver) }
    }
    for number in 0..<10 { continuation.yield(number) }
    continuation.finish()
    for next in 0..<10 {
      await started.reaches(min(next + limit, 10)).value
      #expect(started.count == min(next + limit, 10))
      try expectPending(all)
      started.events[next].fulfill()
    }
    try await expectFulfillment(of: all)
  }

  @Test func forEach_cancelsWhatIsPending_afterAnErrorOrACancellation() async throws {
    for isCancelled in [true, false] {
      let (stream, continuation) = AsyncStream<Int>.makeStream()
      let (started, cancelled) = (Recorder<Resolver<Void>>(), Recorder<Void>())
      let all = stream.forEach(concurrently: 2) { _ in
        Promise { resolver in
          resolver.onCancel { cancelled.record(()) }
          started.record(resolver)
        }
      }
      for number in 0..<9 { continuation.yield(number) }
      await started.reaches(2).value
      if isCancelled { all.cancel() } else { started.events[0].reject(Boom()) }
      if isCancelled {
        try await expectCancellation(of: all)
      } else {
        try await expectRejection(of: all, with: Boom())
      }
      await cancelled.reaches(isCancelled ? 2 : 1).value
      #expect(started.count == 2)
    }
  }

  @Test func results_comeInOrderOfCompletion() async {
    let inputs = (0..<3).map { _ in Promise<Int>.withResolvers() }
    let results = Promise.results(of: inputs.map(\.promise))
    inputs[2].resolver.fulfill(2)
    inputs[0].resolver.reject(Boom())
    inputs[1].resolver.fulfill(1)
    var seen: [Int?] = []
    for await result in results { seen.append(try? result.get()) }
    #expect(seen == [2, nil, 1])
    for await result in Promise<Int>.results(of: []) { Issue.record("\(result)") }
  }

  @Test func results_leavingTheLoop_cancelsTheRest() async {
    let pending = Promise<Int>.never
    for await result in Promise.results(of: [.value(1), pending]) {
      #expect((try? result.get()) == 1)
      break
    }
    await #expect(throws: CancellationError.self) { try await pending.value }
  }
}
