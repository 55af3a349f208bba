#if ServiceLifecycle
  import Pledge
  import PledgeLifecycle
  import PledgeTesting
  import ServiceLifecycle
  import ServiceLifecycleTestKit
  import Testing

  private struct Boom: Error, Equatable {}

  @Suite struct GracefulScopeTests {
    /// Calls `body` while the scope runs as a service; `body` must shut it down.
    private func serving(
      _ scope: GracefulScope, _ body: (GracefulShutdownTestTrigger) async throws -> Void
    ) async throws {
      try await testGracefulShutdown { trigger in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await scope.run() }
          try await body(trigger)
          try await group.waitForAll()
        }
      }
    }

    @Test func work_hasItsResult_andIsForgotten() async throws {
      let scope = GracefulScope()
      try await expectFulfillment(of: scope.run { Promise.value(1) }, with: 1)
      try await expectRejection(of: scope.run { Promise<Int>.rejected(Boom()) }, with: Boom())
      try await expectRejection(of: scope.run { () throws -> Promise<Int> in throw Boom() })
      try await expectFulfillment(of: scope.run { await Task.yield() })
      let recovered: Promise<Int> = scope.run {
        Promise<Int>.rejected(Boom()).replaceError(with: 2)
      }
      try await expectFulfillment(of: recovered, with: 2)
      #expect(scope.pendingCount == 0)
    }

    @Test func shutdown_waitsForRunningWork_andRejectsNewWork() async throws {
      let scope = GracefulScope(deadline: .seconds(3600))
      let (gate, resolver) = Promise<Void>.withResolvers()
      let work = (0..<5).map { number in scope.run { gate.map { number } } }
      try await serving(scope) { trigger in
        trigger.triggerGracefulShutdown()
        try await waitUntil { scope.isShuttingDown }
        try await expectRejection(
          of: scope.run { Promise.value(1) }, with: GracefulScope.ShuttingDownError())
        try await expectRejection(of: scope.run { 1 }, with: GracefulScope.ShuttingDownError())
        #expect(scope.pendingCount == 5)
        for promise in work { try expectPending(promise) }
        resolver.fulfill()
      }
      for (number, promise) in work.enumerated() {
        try await expectFulfillment(of: promise, with: number)
      }
      #expect(scope.pendingCount == 0)
    }

    @Test func workThatTakesLongerThanTheDeadline_isCancelled() async throws {
      let clock = TestClock()
      let scope = GracefulScope(deadline: .seconds(20), clock: clock)
      let told = CallCounter()
      let begun = Recorder<Resolver<Int>>()
      let stuck = scope.run {
        Promise<Int> { resolver in
          resolver.onCancel { told.call() }
          begun.record(resolver)
        }
      }
      let task = scope.run { () async throws -> Int in
        try await Task.sleep(for: .seconds(3600))
        return 1
      }
      try await serving(scope) { trigger in
        trigger.triggerGracefulShutdown()
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(19))
        try expectPending(stuck)
        await clock.advance(by: .seconds(1))
      }
      try await expectCancellation(of: stuck)
      try await expectCancellation(of: task)
      #expect(scope.pendingCount == 0)
      try told.expectOnce()
    }

    @Test func workThatWaitsInALimiter_atTheDeadline_neverStarts() async throws {
      let clock = TestClock()
      let limiter = Limiter(2)
      let scope = GracefulScope(deadline: .seconds(20), clock: clock)
      let running = Recorder<Resolver<Void>>()
      let work = (0..<6).map { _ in
        scope.run(on: .immediate) {
          limiter.run(on: .immediate) { Promise<Void> { resolver in running.record(resolver) } }
        }
      }
      #expect(limiter.runningCount == 2 && limiter.waitingCount == 4)
      try await serving(scope) { trigger in
        trigger.triggerGracefulShutdown()
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(20))
      }
      for promise in work { try await expectCancellation(of: promise) }
      #expect(running.count == 2)
      try await expectFulfillment(of: limiter.idle())
    }

    @Test func shutdownOfAnIdleScope_returnsAtOnce() async throws {
      let clock = TestClock()
      let scope = GracefulScope(clock: clock)
      try await expectFulfillment(of: scope.run { Promise.value(1) })
      try await serving(scope) { $0.triggerGracefulShutdown() }
      #expect(await scope.drain() == 0)
      #expect(clock.sleeperCount == 0)
    }

    @Test func workInPlace_startsInsideTheCall_unlessTheScopeIsClosed() async throws {
      let scope = GracefulScope()
      let started = CallCounter()
      let work = scope.run(on: .immediate) {
        started.call()
        return Promise.value(1)
      }
      try started.expectOnce()
      try await expectFulfillment(of: work, with: 1)
      await scope.drain()
      let late = scope.run(on: .immediate) {
        started.call()
        return Promise.value(2)
      }
      try await expectRejection(of: late, with: GracefulScope.ShuttingDownError())
      try started.expectOnce()
    }

    @Test func cancelledService_cancelsItsWork() async throws {
      let scope = GracefulScope()
      let (gate, resolver) = Promise<Void>.withResolvers()
      let work = scope.run { gate }
      let service = Task { try await scope.run() }
      service.cancel()
      await #expect(throws: CancellationError.self) { try await service.value }
      try await expectCancellation(of: work)
      withExtendedLifetime(resolver) {}
    }

    @Test func serviceThatIsCancelledWhileItDrains_cancelsItsWork() async throws {
      let scope = GracefulScope(deadline: .seconds(3600))
      let (gate, resolver) = Promise<Void>.withResolvers()
      let work = scope.run { gate }
      let draining = Task { await scope.drain() }
      try await waitUntil { scope.isShuttingDown }
      draining.cancel()
      #expect(await draining.value == 1)
      try await expectCancellation(of: work)
      withExtendedLifetime(resolver) {}
    }

    @Test func consumerThatGivesUp_cancelsTheWork() async throws {
      let scope = GracefulScope()
      let told = CallCounter()
      let begun = Recorder<Resolver<Int>>()
      let work = scope.run {
        Promise<Int> { resolver in
          resolver.onCancel { told.call() }
          begun.record(resolver)
        }
      }
      try await expectFulfillment(of: begun.reaches(1).promise)
      work.cancel()
      try await expectCancellation(of: work)
      try told.expectOnce()
      #expect(scope.pendingCount == 0)
    }

    @Test func operation_runsInItsIsolation() async throws {
      let scope = GracefulScope()
      let onMain = await MainActor.run {
        scope.run { () -> Promise<Bool> in
          MainActor.assertIsolated()
          return .value(true)
        }
      }
      try await expectFulfillment(of: onMain, with: true)
    }

    @Test func servicesOfAGroup_drainAfterTheServiceThatSubmits() async throws {
      let scope = GracefulScope(deadline: .seconds(3600))
      let (gate, resolver) = Promise<Void>.withResolvers()
      let result = Recorder<Int>()
      try await testGracefulShutdown { trigger in
        let group = ServiceGroup(
          services: [
            scope,
            Front {
              let response = scope.run { gate.map { 7 } }
              response.done { result.record($0) }.ignoreErrors()
              trigger.triggerGracefulShutdown()
              try await gracefulShutdown()
              resolver.fulfill()
            },
          ], logger: .init(label: "test"))
        try await group.run()
      }
      #expect(scope.isShuttingDown)
      try await expectFulfillment(of: result.reaches(1).promise)
      try #require(result.events == [7])
    }

    @Test func serverThatWaitsForTheWork_endsAtTheLimitOfItsGroup() async throws {
      let scope = GracefulScope(deadline: .seconds(3600))
      let told = CallCounter()
      let begun = Recorder<Resolver<Int>>()
      let server = Front {
        // A request that hangs: the scope's turn comes only when the server has ended.
        let request = scope.run {
          Promise<Int> { resolver in
            resolver.onCancel { told.call() }
            begun.record(resolver)
          }
        }
        try? await gracefulShutdown()
        _ = await request.uncancellable().result
      }
      try await testGracefulShutdown { trigger in
        var configuration = ServiceGroupConfiguration(
          services: [scope, server], logger: .init(label: "test"))
        configuration.maximumGracefulShutdownDuration = .milliseconds(1)
        let group = ServiceGroup(configuration: configuration)
        let shutdown = begun.reaches(1).promise.done { trigger.triggerGracefulShutdown() }
        try? await group.run()
        try await expectFulfillment(of: shutdown)
      }
      #expect(told.count == 1)
      #expect(scope.pendingCount == 0)
    }

    /// Detects leaks, and data races under ThreadSanitizer.
    @Test func manyOperations_andAShutdownAmongThem_leaveNothingBehind() async throws {
      let tracker = LifetimeTracker()
      let limiter = Limiter(8)
      var rejected = 0
      for _ in 0..<100 {
        let scope = GracefulScope(deadline: .zero)
        let submitting = Task.detached {
          (0..<1000).map { number in
            let token = tracker.track()
            let work = scope.run {
              limiter.run {
                Promise.value(()).map(on: .global) { withExtendedLifetime(token) { number } }
              }
            }
            if number.isMultiple(of: 7) { work.cancel() }
            return work
          }
        }
        await scope.drain()
        for work in await submitting.value {
          if case .failure(is GracefulScope.ShuttingDownError) = await work.result { rejected += 1 }
        }
        #expect(scope.pendingCount == 0)
      }
      #expect(tracker.madeCount == 100_000)
      try await expectFulfillment(of: limiter.idle())
      try await tracker.expectNoneAlive()
    }
  }

  private struct Front: Service {
    let body: @Sendable () async throws -> Void
    func run() async throws { try await body() }
  }
#endif
