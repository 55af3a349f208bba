#if NIO
  @Suite struct WaitingTests {
    @Test func waitOnALoop_forAFutureOfThatLoop_throws() async throws {
      try await withLoop { loop in
        let held = Held<Int>(on: loop)
        let promise = held.future.promise
        let waiting = loop.submit { try promise.wait() }
        let error = await #expect(throws: DeadlockError.self) { try await waiting.get() }
        #expect(error?.description.contains("event loop") == true)
        held.promise.succeed(1)
        try await expectFulfillment(of: promise, with: 1)
      }
    }

    @Test func waitInAHandlerOnALoop_forAnotherHandlerThere_throws() async throws {
      try await withLoop { loop in
        let promise = Promise.value(1).map(on: .eventLoop(loop)) { value in
          try Promise.value(value).map(on: .eventLoop(loop)) { $0 }.wait()
        }
        try await expectRejection(of: promise, with: DeadlockError.self)
      }
    }

    @Test func waitOnALoop_forASettledPromise_returns() async throws {
      try await withLoop { loop in
        let promise = loop.makeSucceededFuture(2).promise
        try await expectFulfillment(of: promise)
        #expect(try await loop.submit { try promise.wait() }.get() == 2)
      }
    }

    @Test func waitOnAThreadOfItsOwn_forALoop_returns() async throws {
      try await withLoop { loop in
        let promise = loop.submit { 3 }.promise.map(on: .eventLoop(loop)) { $0 + 1 }
        let result = try await NIOThreadPool.singleton.runIfActive { try promise.wait() }
        #expect(result == 4)
      }
    }

    @Test func waitOnTheThreadOfALoopThatIsRunByHand_forItsHandler_throws() throws {
      let loop = EmbeddedEventLoop()
      let promise = Promise.value(1).map(on: .eventLoop(loop)) { $0 }
      // In a task, as in any other place that the promise needs.
      #expect(throws: DeadlockError.self) { try promise.wait() }
      loop.run()
      #expect(try promise.wait() == 1)
    }

    // In a process of its own, in which nothing else has used the module.

    @Test func waitOnALoop_afterPromiseOfAFuture_throws() async {
      await #expect(processExitsWith: .success) {
        try await expectThrowingWait { _ = Held<Int>(on: $0).future.promise }
      }
    }

    @Test func waitOnALoop_afterCancellablePromiseOfAFuture_throws() async {
      await #expect(processExitsWith: .success) {
        try await expectThrowingWait { _ = Held<Int>(on: $0).future.promise(onCancel: {}) }
      }
    }

    @Test func waitOnALoop_afterPromiseOfAScheduledTask_throws() async {
      await #expect(processExitsWith: .success) {
        try await expectThrowingWait { _ = $0.scheduleTask(in: .hours(1)) {}.promise }
      }
    }

    @Test func waitOnALoop_afterEventLoopPromise_throws() async {
      await #expect(processExitsWith: .success) {
        try await expectThrowingWait { loop in
          Promise<Int>.withResolvers().resolver.eventLoopPromise(on: loop).succeed(1)
        }
      }
    }

    @Test func waitOnALoop_afterTimeoutOfTheLoop_throws() async {
      await #expect(processExitsWith: .success) {
        try await expectThrowingWait { _ = Promise<Int>.never.timeout(after: .hours(1), on: $0) }
      }
    }
  }

  /// Calls `use`, and expects that a handler on the loop can't wait then.
  private func expectThrowingWait(after use: (any EventLoop) -> Void) async throws {
    try await withLoop { loop in
      use(loop)
      let (source, resolver) = Promise<Void>.withResolvers()
      let own = Recorder<Promise<Void>>()
      // A handler that waits for itself never blocks: without the check, it throws another error.
      own.record(source.map(on: .immediate) { try own.events[0].wait() })
      loop.execute { resolver.fulfill() }
      let error = await #expect(throws: DeadlockError.self) { try await own.events[0].value }
      #expect(error?.description.contains("event loop") == true)
    }
  }
#endif
