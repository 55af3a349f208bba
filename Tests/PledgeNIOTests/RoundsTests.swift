#if NIO
  /// Many rounds, with cancellations from either side at once: for leaks, and for the sanitizer.
  @Suite struct RoundsTests {
    static let rounds = 100_000

    @Test func roundsThroughBothBridges_leaveNothingBehind() async throws {
      try await withLoop { loop in
        let tracker = LifetimeTracker()
        for start in stride(from: 0, to: Self.rounds, by: 1000) {
          let promises = (start..<start + 1000).map { _ in
            Promise.value(tracker.track()).future(on: loop).promise.map(on: .eventLoop(loop)) { $0 }
          }
          for promise in promises { _ = try await promise.value }
        }
        #expect(tracker.madeCount == Self.rounds)
        try await tracker.expectNoneAlive()
      }
    }

    @Test func completionAgainstCancellation_settlesOnce_andLeavesNothingBehind() async throws {
      try await withLoop { loop in
        let (tracker, outcomes) = (LifetimeTracker(), Recorder<Bool>())
        for start in stride(from: 0, to: Self.rounds, by: 1000) {
          let pairs = (start..<start + 1000).map { _ in
            let source = loop.makePromise(of: LifetimeTracker.Token.self)
            let promise = source.futureResult.promise(onCancel: {
              source.fail(CancellationError())
            })
            let consumer = promise.map(on: .eventLoop(loop)) { $0 }.future(on: loop)
            return (source, promise, consumer)
          }
          let completing = Task.detached { for pair in pairs { pair.0.succeed(tracker.track()) } }
          for pair in pairs.reversed() { pair.1.cancel() }
          await completing.value
          for pair in pairs {
            // Not `get()`, which ThreadSanitizer suspects of a race of its own.
            let value = try? await pair.2.promise.value
            outcomes.record(value != nil)
          }
        }
        #expect(outcomes.count == Self.rounds)
        try await tracker.expectNoneAlive()
      }
    }

    @Test func consumersThatGiveUpOnOnePromiseOfALongLivedFuture_leaveNothingBehind() async throws {
      let tracker = LifetimeTracker()
      let held = Held<Int>()
      let shared = held.future.promise
      let stays = shared.map(on: .immediate) { $0 }
      for _ in 0..<Self.rounds {
        let token = tracker.track()
        shared.map(on: .immediate) { value in withExtendedLifetime(token) { value } }.cancel()
      }
      #expect(tracker.liveCount <= 64)
      try expectPending(stays)
      held.promise.succeed(1)
      try await expectFulfillment(of: stays, with: 1)
      try await tracker.expectNoneAlive()
    }

    @Test func turnsAndShutdownAtOnce_settleEveryPromise() async throws {
      for _ in 0..<20 {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let (start, resolver) = Promise<Void>.withResolvers()
        let promises = (0..<5).map { _ in
          start.map(on: .eventLoop(loop)) {}.map(on: .eventLoop(loop)) {}
        }
        let settling = Task.detached { _ = resolver.fulfill(()) }
        try await group.shutdownGracefully()
        await settling.value
        // Each ran or was broken: none stays pending.
        for promise in promises { _ = await promise.result }
      }
    }
  }
#endif
