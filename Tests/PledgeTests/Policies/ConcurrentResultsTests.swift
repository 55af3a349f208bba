@Suite struct ConcurrentResultsTests {
  private let work = BoundedAll.Work()
  private let started = Recorder<Int>()

  @Test(arguments: [false, true])
  func results_areInTheOrderOfCompletion_orOfInputs(_ ordered: Bool) async throws {
    let results = results(of: 0..<3, limit: 3, ordered: ordered) { [work] in
      try await work.start($0).value
    }
    let first = Task { try await results.next() }
    await work.started.reaches(3).value
    work.finish(1)
    if !ordered { #expect(try await first.value?.input == 1) }
    work.finish(2)
    if !ordered { #expect(try await results.next()?.input == 2) }
    work.finish(0)
    if ordered {
      #expect(try await first.value?.input == 0)
      #expect(try await results.next()?.input == 1)
      #expect(try await results.next()?.result.get() == "2")
    } else {
      #expect(try await results.next()?.result.get() == "0")
    }
    for _ in 0..<2 { #expect(try await results.next() == nil) }
  }

  @Test(arguments: [1, 2, 7], [false, true])
  func noMoreRunThanTheLimit(_ limit: Int, _ ordered: Bool) async throws {
    let running = Mutex(0)
    let most = Mutex(0)
    let results = results(of: 0..<200, limit: limit, bufferLimit: 1000, ordered: ordered) {
      let now = running.withLock {
        $0 += 1
        return $0
      }
      most.withLock { $0 = max($0, now) }
      await Task.yield()
      running.withLock { $0 -= 1 }
      return $0
    }
    var inputs: [Int] = []
    for try await (input, _) in results { inputs.append(input) }
    #expect(ordered ? inputs == Array(0..<200) : inputs.sorted() == Array(0..<200))
    #expect(most.withLock { $0 } <= limit)
  }

  @Test(arguments: [false, true])
  func noMoreWaitUnreadThanTheBufferLimit(_ ordered: Bool) async throws {
    let results = results(of: 0..., limit: 2, bufferLimit: 5, ordered: ordered) { number in
      started.record(number)
      return number
    }
    #expect(started.count == 0)
    for read in 1...20 {
      _ = try await results.next()
      await started.reaches(read + 5).value
      // What is read makes room, and nothing else does.
      #expect(started.count <= read + 5)
    }
  }

  @Test(arguments: [1, 0, -1])
  func bufferLimitOfOne_startsOneAtATime(_ bufferLimit: Int) async throws {
    let results = results(of: 0..<3, limit: 8, bufferLimit: bufferLimit) { [work] in
      try await work.start($0).value
    }
    for number in 0..<3 {
      let result = Task { try await results.next()?.input }
      await work.started.reaches(number + 1).value
      #expect(work.started.count == number + 1)
      work.finish(number)
      #expect(try await result.value == number)
    }
  }

  @Test func noInputs_noResults() async throws {
    #expect(try await results(of: [Int](), limit: 1, { $0 }).next() == nil)
  }

  @Test func failedOperations_endNothing() async throws {
    var failed: [Int] = []
    for try await (input, result) in results(
      of: 0..<10, limit: 3,
      { number in
        if number % 3 == 0 { throw Boom() }
        return number
      })
    {
      if case .failure(is Boom) = result { failed.append(input) }
    }
    #expect(failed.sorted() == [0, 3, 6, 9])
  }

  @Test func errorOfTheInputs_comesAfterTheResultsOfEarlierOnes() async throws {
    let (inputs, more) = AsyncThrowingStream<Int, any Error>.makeStream()
    more.yield(1)
    more.yield(2)
    more.finish(throwing: Boom())
    let results = results(of: inputs, limit: 1, ordered: true) { $0 }
    #expect(try await results.next()?.input == 1)
    #expect(try await results.next()?.input == 2)
    await #expect(throws: Boom.self) { try await results.next() }
    #expect(try await results.next() == nil)
  }

  @Test func inputsOfTheReadingLoop_areProcessed() async throws {
    let results = results(of: [1], limit: 4) { $0 }
    var seen: Set = [1]
    for try await (number, _) in results where number < 1000 {
      for next in [2 * number, 2 * number + 1] where seen.insert(next).inserted {
        #expect(results.append(next))
      }
    }
    #expect(seen == Set(1..<2000))
    #expect(!results.append(0))
  }

  @Test func addedInput_doesNotWaitForTheSource() async throws {
    let (inputs, more) = AsyncStream<Int>.makeStream()
    let results = results(of: inputs, limit: 1) { $0 }
    let first = Task { try await results.next()?.input }
    results.append(7)
    #expect(try await first.value == 7)
    more.yield(8)
    #expect(try await results.next()?.input == 8)
    more.finish()
    #expect(try await results.next() == nil)
  }

  @Test func addedInput_beforeTheFirstRead_startsNothing() async throws {
    let results = results(of: [Int](), limit: 1) { started.record($0) }
    results.append(1)
    #expect(started.count == 0)
    #expect(try await results.next()?.input == 1)
  }

  @Test func operationThatAddsInputs_keepsTheSequenceAlive() async throws {
    let holder = Box<ConcurrentResults<Int, Int>?>(nil)
    let results = results(of: [5], limit: 2) { number in
      if number > 0 { holder.value?.append(number - 1) }
      return number
    }
    holder.value = results
    var inputs: [Int] = []
    for try await (input, _) in results { inputs.append(input) }
    #expect(inputs.sorted() == [0, 1, 2, 3, 4, 5])
    holder.value = nil
  }

  @Test func cancelledReader_cancelsTheOperations_andEndsTheSequence() async throws {
    let results = results(of: 0..., limit: 3) { [work] in try await work.start($0).value }
    let reader = Task { try await results.next() }
    await work.started.reaches(3).value
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
    #expect(try await results.next() == nil)
    #expect(!results.append(1))
    #expect(work.started.count == 3)
  }

  @Test func readerThatWasCancelledBefore_startsNothing() async throws {
    let results = results(of: 0..., limit: 3) { started.record($0) }
    await #expect(throws: CancellationError.self) {
      try await Task {
        withUnsafeCurrentTask { $0?.cancel() }
        _ = try await results.next()
      }.value
    }
    #expect(started.count == 0)
  }

  @Test func releasedSequence_cancelsTheOperations_andLeavesNothingBehind() async throws {
    let (tracker, cancelled) = (LifetimeTracker(), Recorder<Int>())
    do {
      let captured = tracker.track()
      let results = results(of: 0..., limit: 3) { number in
        _ = captured
        if number == 0 { return tracker.track() }
        return try await withTaskCancellationHandler {
          try await Promise<LifetimeTracker.Token>.never.value
        } onCancel: {
          cancelled.record(number)
        }
      }
      for try await _ in results { break }
    }
    await cancelled.reaches(1).value
    try await tracker.expectNoneAlive()
  }

  @Test func severalReaders_shareTheResults() async throws {
    let results = results(of: 0..<1000, limit: 4) { $0 }
    let inputs = try await concurrentMap(0..<8, limit: 8) { _ in
      var inputs: [Int] = []
      for try await (input, _) in results { inputs.append(input) }
      return inputs
    }
    #expect(inputs.flatMap(\.self).sorted() == Array(0..<1000))
  }

  private func numbers(_ count: Int) -> AsyncStream<Int> {
    AsyncStream { continuation in
      for number in 0..<count { continuation.yield(number) }
      continuation.finish()
    }
  }

  @Test func map_isInOrder() async throws {
    var values: [Int] = []
    for try await value in concurrentMap(
      numbers(100), limit: 8,
      {
        if $0 % 7 == 0 { await Task.yield() }
        return $0 * 2
      })
    { values.append(value) }
    #expect(values == (0..<100).map { $0 * 2 })
  }

  @Test func map_firstError_endsIt_andCancelsTheRest() async throws {
    let values = concurrentMap(numbers(10), limit: 4) { [work] number in
      if number == 1 { throw Boom() }
      return number == 0 ? "0" : try await work.start(number).value
    }
    var iterator = values.makeAsyncIterator()
    #expect(try await iterator.next() == "0")
    await #expect(throws: Boom.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test func operations_haveTheTaskLocalValuesOfTheReader() async throws {
    let ids = try await Request.$id.withValue(3) {
      var ids: [Int] = []
      for try await (_, id) in results(of: 0..<20, limit: 3, { _ in Request.id }) {
        ids.append(try id.get())
      }
      return ids
    }
    #expect(ids == Array(repeating: 3, count: 20))
  }
}
