extension FoundationTests {
  @Suite struct WeightedProgress {
    let progress = Progress(totalUnitCount: -1)

    @Test func all_addsTheWeightOfEachFulfilledPromise() async throws {
      let (first, second, third) = (
        Promise<Int>.withResolvers(), Promise<Int>.withResolvers(), Promise<Int>.withResolvers()
      )
      let all = Promise.all(
        [first.promise, second.promise, third.promise], progress: progress, weights: [1, 7, 2])
      #expect(progress.totalUnitCount == 10 && progress.completedUnitCount == 0)
      second.resolver.fulfill(2)
      try await waitUntil { progress.completedUnitCount == 7 }
      #expect(progress.fractionCompleted == 0.7)
      third.resolver.fulfill(3)
      try await waitUntil { progress.completedUnitCount == 9 }
      first.resolver.fulfill(1)
      #expect(try await all.value == [1, 2, 3])
      #expect(progress.isFinished)
    }

    @Test func all_settledAlready_countsThemBeforeItIsFulfilled() async throws {
      let promises = (0..<1000).map { Promise.value($0) }
      #expect(try await Promise.all(promises, progress: progress).value.count == 1000)
      #expect(progress.completedUnitCount == 1000 && progress.isFinished)
    }

    @Test func all_handlerInPlace_canWaitForAnotherProgress() async throws {
      let (first, resolver) = Promise<Void>.withResolvers()
      let all = Promise.all([first], progress: Progress(totalUnitCount: -1))
        .map(on: .immediate) { _ in
          try Promise.all([first], progress: Progress(totalUnitCount: -1)).wait().count
        }
      resolver.fulfill()
      #expect(try await all.value == 1)
    }

    @Test func all_whenOneIsRejected_movesNoMore() async throws {
      let (first, second) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
      let all = Promise.all([first.promise, second.promise, .value(3)], progress: progress)
      try await waitUntil { progress.completedUnitCount == 1 }
      first.resolver.reject(Boom())
      await #expect(throws: Boom()) { try await all.value }
      second.resolver.fulfill(2)
      // The promise of a handler that runs later on the same queue.
      try await second.promise.map { _ in }.value
      #expect(progress.completedUnitCount == 1 && !progress.isFinished)
    }

    @Test(arguments: [false, true]) func all_cancelled_withdraws(byItsProgress: Bool) async throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let (told, tell) = Promise<Void>.withResolvers()
      resolver.onCancel { tell.fulfill() }
      let all = Promise.all([promise], progress: progress).map { $0.count }
      if byItsProgress { progress.cancel() } else { all.cancel() }
      try await told.value
      await #expect(throws: CancellationError.self) { try await all.value }
    }

    @Test func all_cancellingRest_cancelsTheOthers() async throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let (told, tell) = Promise<Void>.withResolvers()
      resolver.onCancel { tell.fulfill() }
      let all = Promise.all(
        [promise, .rejected(Boom())], progress: Progress(totalUnitCount: -1), cancellingRest: true)
      await #expect(throws: Boom()) { try await all.value }
      try await told.value
    }

    @Test(arguments: [[1], [1, 2, 3], [-1, 1], [.max, 1]])
    func all_withWeightsThatMakeNoSense_rejects(weights: [Int64]) async throws {
      let all = Promise.all(
        [.value(1), .value(2)], progress: Progress(totalUnitCount: -1), weights: weights)
      await #expect(throws: PromiseError.self) { try await all.value }
    }

    @Test(arguments: [-1, 0, 5])
    func all_ofNothing_isFulfilledAndFinished(total: Int64) async throws {
      let none: [Promise<Int>] = []
      let parent = Progress(totalUnitCount: 2)
      let progress = Progress(totalUnitCount: total)
      parent.addChild(progress, withPendingUnitCount: 1)
      #expect(try await Promise.all(none, progress: progress).value.isEmpty)
      #expect(progress.isFinished)
      #expect(parent.fractionCompleted == 0.5)
    }

    @Test func all_ofNoWeight_isFinished() async throws {
      let progress = Progress(totalUnitCount: 5)
      let all = Promise.all([.value(1), .value(2)], progress: progress, weights: [0, 0])
      #expect(try await all.value == [1, 2])
      #expect(progress.isFinished)
    }

    @Test func all_inAParent_composes() async throws {
      let parent = Progress(totalUnitCount: 4)
      let child = Progress(totalUnitCount: -1)
      parent.addChild(child, withPendingUnitCount: 2)
      let first = Promise<Int>.withResolvers()
      let all = Promise.all([first.promise, .value(1)], progress: child, weights: [3, 1])
      try await waitUntil { parent.fractionCompleted == 0.125 }
      first.resolver.fulfill(1)
      _ = try await all.value
      #expect(parent.fractionCompleted == 0.5)
    }
  }
}
