/// Cancellation of a loader's requests in each phase of their batch.
@Suite struct DataLoaderCancellation {
  private let clock = TestClock()
  private let batches = Recorder<[Int]>()
  private let cancelled = Recorder<[Int]>()

  /// Returns a loader whose batches wait for `gate` and ignore cancellation, but record it.
  private func loader(_ gate: Promise<Void> = .value(())) -> DataLoader<Int, Int> {
    DataLoader(delay: .seconds(1), clock: clock) { [batches, cancelled] keys in
      batches.record(keys)
      try await withTaskCancellationHandler {
        try await gate.uncancellable().map { _ in }.resultIgnoringCancellation()
      } onCancel: {
        cancelled.record(keys)
      }
      return Dictionary(uniqueKeysWithValues: keys.map { ($0, .success($0)) })
    }
  }

  @Test func whileItWaits_removesTheKey() async throws {
    let loader = loader()
    let promises = [1, 2, 3].map { loader.promise(for: $0) }
    promises[1].cancel()
    await clock.advance(by: .seconds(1))
    #expect(try await promises[0].value == 1)
    #expect(try await promises[2].value == 3)
    await #expect(throws: CancellationError.self) { try await promises[1].value }
    #expect(batches.events == [[1, 3]])
  }

  @Test func ofAllKeys_whileTheyWait_removesTheBatch() async throws {
    let loader = loader()
    let promises = [1, 2].map { loader.promise(for: $0) }
    #expect(clock.sleeperCount == 1)
    for promise in promises { promise.cancel() }
    #expect(clock.sleeperCount == 0)
    let next = loader.promise(for: 1)
    await clock.advance(by: .seconds(1))
    #expect(try await next.value == 1)
    #expect(batches.events == [[1]])
  }

  @Test func ofOneKey_whileTheyLoad_letsTheBatchContinue() async throws {
    let (gate, open) = Promise<Void>.withResolvers()
    let loader = loader(gate)
    let promises = [1, 2].map { loader.promise(for: $0) }
    await clock.advance(by: .seconds(1))
    await batches.reaches(1).value
    promises[0].cancel()
    await #expect(throws: CancellationError.self) { try await promises[0].value }
    // The key isn't being loaded for anyone anymore, so it is requested again.
    let again = loader.promise(for: 1)
    open.fulfill()
    #expect(try await promises[1].value == 2)
    await clock.advance(by: .seconds(1))
    #expect(try await again.value == 1)
    #expect(cancelled.events == [])
    #expect(batches.events == [[1, 2], [1]])
  }

  @Test func ofAllKeys_whileTheyLoad_cancelsTheTask() async throws {
    let (gate, open) = Promise<Void>.withResolvers()
    let loader = loader(gate)
    let promises = [1, 2].map { loader.promise(for: $0) }
    await clock.advance(by: .seconds(1))
    await batches.reaches(1).value
    promises[0].cancel()
    #expect(cancelled.events == [])
    promises[1].cancel()
    #expect(cancelled.events == [[1, 2]])
    open.fulfill()
    for promise in promises {
      await #expect(throws: CancellationError.self) { try await promise.value }
    }
  }

  @Test func ofAWaitingTask_endsItsWaitImmediately() async throws {
    let loader = loader()
    let task = Task { try await loader.value(for: 1) }
    await clock.sleepers(atLeast: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test func releasedLoader_andItsKeys_leaveNothingBehind() async throws {
    let tracker = LifetimeTracker()
    do {
      let captured = tracker.track()
      let loader = DataLoader<Int, LifetimeTracker.Token>(maxBatchSize: 10, delay: .seconds(60)) {
        keys in
        _ = captured
        return Dictionary(uniqueKeysWithValues: keys.map { ($0, .success(tracker.track())) })
      }
      for _ in 0..<100 {
        let promises = (0..<25).map { loader.promise(for: $0) }
        for promise in promises[..<20] { _ = try await promise.value }
        for promise in promises[20...] { promise.cancel() }
      }
    }
    try await tracker.expectNoneAlive()
  }

  /// Detects lost requests, and data races under ThreadSanitizer.
  @Test func requestsAndCancellationOnEightThreads_loseNothing() async throws {
    let loader = DataLoader<Int, Int>(maxBatchSize: 7, delay: .microseconds(50)) { keys in
      Dictionary(uniqueKeysWithValues: keys.map { ($0, .success($0)) })
    }
    await inEightTasks(rounds: 500) { random in
      let key = Int.random(in: 0..<20, using: &random)
      let isCancelled = Int.random(in: 0..<3, using: &random) == 0
      let promise = loader.promise(for: key)
      if isCancelled { promise.cancel() }
      switch await promise.result {
      // The value can arrive before the cancellation.
      case .success(let value): #expect(value == key)
      case .failure: #expect(isCancelled)
      }
    }
  }
}

extension Promise<Void> {
  /// Waits in a separate task, which isn't cancelled with the calling one.
  fileprivate func resultIgnoringCancellation() async throws {
    try await Task.detached { try await value }.value
  }
}
