/// A loader whose batches the test sees, and answers with ten times each key.
private struct Loading: Sendable {
  let clock = TestClock()
  let batches = Recorder<[Int]>()
  let loader: DataLoader<Int, Int>

  init(
    maxBatchSize: Int? = nil, delay: Duration = .seconds(1), caching: CoalescerCaching? = nil,
    _ change: @escaping @Sendable (inout [Int: Result<Int, any Error>]) async throws -> Void = {
      _ in
    }
  ) {
    loader = DataLoader(
      maxBatchSize: maxBatchSize, delay: delay, caching: caching, clock: clock
    ) { [batches] keys in
      batches.record(keys)
      var results = Dictionary(
        uniqueKeysWithValues: keys.map { ($0, Result<Int, any Error>.success($0 * 10)) })
      try await change(&results)
      return results
    }
  }

  /// Requests the keys in the caller's isolation, whose turn a batch without a delay waits for.
  func promises(_ keys: Int..., isolation: (any Actor)? = #isolation) -> [Promise<Int>] {
    keys.map { loader.promise(for: $0, isolation: isolation) }
  }
}

@Suite struct DataLoaderTests {
  @Test func keysWithinTheDelay_areLoadedTogether_inOrder_andOnce() async throws {
    let loading = Loading()
    let early = loading.promises(3, 1, 3)
    await loading.clock.advance(by: .milliseconds(999))
    let late = loading.promises(2, 1)
    #expect(loading.batches.events == [])
    await loading.clock.advance(by: .milliseconds(1))
    #expect(try await Promise.all(early + late).value == [30, 10, 30, 20, 10])
    #expect(loading.batches.events == [[3, 1, 2]])
    #expect(loading.clock.sleeperCount == 0)
  }

  @Test func fullBatch_startsImmediately_andItsTimerIsReleased() async throws {
    let loading = Loading(maxBatchSize: 2)
    let promises = loading.promises(1, 1, 2, 3)
    #expect(try await Promise.all(promises[..<3]).value == [10, 10, 20])
    #expect(loading.clock.sleeperCount == 1)
    await loading.clock.advance(by: .seconds(1))
    #expect(try await promises[3].value == 30)
    #expect(loading.batches.events == [[1, 2], [3]])
  }

  @Test(arguments: [Duration.zero, .seconds(-1)]) @MainActor
  func withoutDelay_theKeysOfATurnAreOneBatch(_ delay: Duration) async throws {
    let loading = Loading(delay: delay)
    let first = loading.promises(1, 2)
    // A handler that is already waiting for the main actor belongs to the turn.
    let second = Promise<Void>.value(()).then { @MainActor in loading.loader.promise(for: 3) }
    let third = loading.promises(4)
    #expect(try await Promise.all(first + [second] + third).value == [10, 20, 30, 40])
    #expect(loading.batches.events.count <= 2)
    // Batches run at the same time, in any order.
    #expect(loading.batches.events.contains { $0.prefix(3) == [1, 2, 4] })
  }

  @Test func withoutDelay_theKeysOfAnActorsJobAreOneBatch() async throws {
    let loading = Loading(delay: .zero)
    actor Screen {
      func load(_ loading: Loading) -> [Promise<Int>] {
        (0..<100).map { loading.loader.promise(for: $0, isolation: self) }
      }
    }
    let promises = await Screen().load(loading)
    #expect(try await Promise.all(promises).value.count == 100)
    #expect(loading.batches.events == [Array(0..<100)])
  }

  @Test func withoutDelay_theHandlersOfATurnAreOneBatch() async throws {
    let loading = Loading(delay: .zero)
    let queue = DispatchQueue(label: "handlers", attributes: .initiallyInactive)
    let promises = (0..<3).map { key in
      Promise<Void>.value(()).then(on: queue) { loading.loader.promise(for: key) }
    }
    queue.activate()
    #expect(try await Promise.all(promises).value == [0, 10, 20])
    #expect(loading.batches.events == [[0, 1, 2]])
  }

  @Test func infiniteDelay_startsFullBatches_andTheRestWhenTheLoaderIsReleased() async throws {
    let batches = Recorder<[Int]>()
    var loader: DataLoader<Int, Int>? = DataLoader(maxBatchSize: 2, delay: .seconds(Int64.max)) {
      batches.record($0)
      return Dictionary(uniqueKeysWithValues: $0.map { ($0, .success($0)) })
    }
    let promises = try (1...3).map { try #require(loader).promise(for: $0) }
    #expect(try await Promise.all(promises[..<2]).value == [1, 2])
    loader = nil
    #expect(try await promises[2].value == 3)
    #expect(batches.events == [[1, 2], [3]])
  }

  @Test func callersThatAwait_shareABatch() async throws {
    let loading = Loading(maxBatchSize: 50)
    let values = try await concurrentMap(0..<50, limit: 50) {
      try await loading.loader.value(for: $0)
    }
    #expect(values == (0..<50).map { $0 * 10 })
    #expect(loading.batches.events.map { $0.sorted() } == [Array(0..<50)])
  }

  @Test func errors_areThoseOfTheirKeys() async throws {
    let loading = Loading { $0[2] = .failure(Boom()) }
    let promises = loading.promises(1, 2, 3)
    await loading.clock.advance(by: .seconds(1))
    #expect(try await promises[0].value == 10)
    await #expect(throws: Boom.self) { try await promises[1].value }
    #expect(try await promises[2].value == 30)
  }

  @Test func errorOfTheBatchFunction_isThatOfAllItsRequests_andIsNotCached() async throws {
    let loading = Loading(caching: .init()) { _ in throw Boom() }
    let promises = loading.promises(1, 2)
    await loading.clock.advance(by: .seconds(1))
    for promise in promises { await #expect(throws: Boom.self) { try await promise.value } }
    let again = loading.promises(1)
    await loading.clock.advance(by: .seconds(1))
    await #expect(throws: Boom.self) { try await again[0].value }
    #expect(loading.batches.events == [[1, 2], [1]])
  }

  @Test func missingKeys_failWithAnErrorThatNamesThem_andOthersSucceed() async throws {
    let loading = Loading {
      $0[2] = nil
      $0[4] = nil
    }
    let promises = loading.promises(1, 2, 3, 4)
    await loading.clock.advance(by: .seconds(1))
    #expect(try await promises[0].value == 10)
    let error = await #expect(throws: BatchMismatchError.self) { try await promises[1].value }
    #expect(error?.missingKeys as? [Int] == [2, 4])
    #expect(error?.unexpectedKeys.isEmpty == true)
    #expect(error?.description == "The batch function returned no result for 2 keys: 2, 4.")
    #expect(try await promises[2].value == 30)
    try await expectRejection(of: promises[3], with: BatchMismatchError.self)
  }

  @Test func unexpectedKeys_failTheBatch() async throws {
    let loading = Loading { $0[7] = .success(7) }
    let promises = loading.promises(1, 2)
    await loading.clock.advance(by: .seconds(1))
    for promise in promises {
      let error = await #expect(throws: BatchMismatchError.self) { try await promise.value }
      #expect(error?.missingKeys.isEmpty == true)
      #expect(error?.unexpectedKeys as? [Int] == [7])
    }
  }

  @Test func otherKeys_areNamed() async throws {
    let loader = DataLoader<String, Int>(delay: .zero) { keys in
      Dictionary(uniqueKeysWithValues: keys.map { ($0.lowercased(), .success(1)) })
    }
    let error = await #expect(throws: BatchMismatchError.self) { try await loader.value(for: "A") }
    #expect(
      error?.description == """
        The batch function returned no result for the key "A", and results for the key "a", which \
        it wasn't asked for.
        """)
  }

  @Test func manyMissingKeys_areShortened() async throws {
    let loader = DataLoader<Int, Int>(maxBatchSize: 12, delay: .seconds(60)) { _ in [:] }
    let promises = (1...12).map { loader.promise(for: $0) }
    let error = await #expect(throws: BatchMismatchError.self) { try await promises[5].value }
    #expect(
      error?.description == """
        The batch function returned no result for 12 keys: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 2 \
        more.
        """)
    for promise in promises { promise.ignoreErrors() }
  }

  @Test func cache_answersWithoutABatch_untilRemoved() async throws {
    let loading = Loading(maxBatchSize: 1, caching: .init())
    for _ in 0..<3 { #expect(try await loading.loader.value(for: 1) == 10) }
    loading.loader.removeValue(for: 1)
    #expect(try await loading.loader.value(for: 1) == 10)
    loading.loader.removeAll()
    #expect(try await loading.loader.promise(for: 1).value == 10)
    #expect(loading.batches.events == [[1], [1], [1]])
  }

  @Test func keyOfTheOwnBatch_isRejected_otherKeysAreNot() async throws {
    let (clock, holder) = (TestClock(), Box<DataLoader<Int, Int>?>(nil))
    let loader = DataLoader<Int, Int>(delay: .seconds(1), clock: clock) { keys in
      guard keys != [9] else { return [9: .success(9)] }
      let loader = try #require(holder.value)
      let own = await loader.promise(for: keys[0]).result
      async let other = loader.value(for: 9)
      return [1: own, 2: .success(try await other)]
    }
    holder.value = loader
    let promises = [1, 2].map { loader.promise(for: $0) }
    await clock.run(until: promises[1])
    #expect(try await promises[1].value == 9)
    await #expect(throws: PromiseError.returnedItself) { try await promises[0].value }
    holder.value = nil
  }

  @Test func batchFunction_runsInItsIsolation() async throws {
    #expect(try await Screen().users().value(for: 2) == 3)
  }

  @Test func batchFunction_hasTheHighestPriorityOfItsCallers_andNoTaskLocals() async throws {
    let seen = Recorder<(TaskPriority, Int)>()
    let loader = DataLoader<Int, Int>(maxBatchSize: 2, delay: .seconds(3600)) { keys in
      seen.record((Task.currentPriority, Request.id))
      return Dictionary(uniqueKeysWithValues: keys.map { ($0, .success($0)) })
    }
    let low = Request.$id.withValue(1) { Task(priority: .low) { loader.promise(for: 1) } }
    let first = await low.value
    let high = Request.$id.withValue(2) { Task(priority: .high) { loader.promise(for: 2) } }
    let second = await high.value
    #expect(try await Promise.all([first, second]).value == [1, 2])
    #expect(seen.events.first?.0 ?? .low >= .high)
    #expect(seen.events.first?.1 == 0)
  }
}

@MainActor private final class Screen {
  private var offset = 1

  func users() -> DataLoader<Int, Int> {
    DataLoader(delay: .zero) { keys in
      MainActor.assertIsolated()
      return Dictionary(uniqueKeysWithValues: keys.map { ($0, .success($0 + self.offset)) })
    }
  }
}
