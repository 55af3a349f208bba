#if NIO
  @Suite struct DeadlineTests {
    @Test func deadlineOfALoop_rejectsWhenItsTimeHasCome() throws {
      let loop = EmbeddedEventLoop()
      let (promise, resolver) = Promise<Int>.withResolvers()
      let result = promise.deadline(.now() + .seconds(-1), on: loop)
      let later = promise.deadline(loop.now + .seconds(5), on: loop)
      loop.advanceTime(by: .seconds(4))
      try expectPending(later)
      loop.advanceTime(by: .seconds(1))
      #expect(throws: TimeoutError.self) { try later.currentResult?.get() }
      later.ignoreErrors()
      // That of this process's clock is far beyond the loop's, which began at zero.
      try expectPending(result)
      resolver.fulfill(1)
      #expect(result.currentResult.map { try? $0.get() } == 1)
    }

    @Test func deadlineThatHasPassed_rejectsAtOnce_unlessSettled() throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let late = promise.deadline(.now() - .seconds(1))
      #expect(throws: TimeoutError.self) { try late.currentResult?.get() }
      late.ignoreErrors()
      #expect(try Promise.value(1).deadline(.now() - .seconds(1)).currentResult?.get() == 1)
      withExtendedLifetime(resolver) {}
    }

    @Test func timeout_cancelsAPromiseThatNothingElseConsumes() throws {
      let (loop, told) = (EmbeddedEventLoop(), CallCounter())
      let promise = loop.makePromise(of: Int.self)
      defer { promise.fail(Boom()) }
      let result = promise.futureResult.promise(onCancel: { told.call() })
        .timeout(after: .seconds(1), on: loop)
      loop.advanceTime(by: .seconds(1))
      let error = #expect(throws: TimeoutError.self) { try result.currentResult?.get() }
      #expect(error?.seconds == 1)
      result.ignoreErrors()
      try told.expectOnce()
    }

    @Test func producerThatIsToldOfATimeout_isToldOnTheLoop() async throws {
      try await withLoop { loop in
        let isOnLoop = Recorder<Bool>()
        let result = Promise<Int> { resolver in
          resolver.onCancel {
            isOnLoop.record(loop.inEventLoop)
            resolver.reject(Boom())
          }
        }.timeout(after: .nanoseconds(1), on: loop)
        try await expectRejection(of: result, with: TimeoutError.self)
        try await expectFulfillment(of: isOnLoop.reaches(1).promise)
        #expect(isOnLoop.events == [true])
      }
    }

    @Test func loopThatShutsDown_leavesTheRestOfTheTimeToTheLibrary() async throws {
      let result = try timeoutOfClosedLoop(.nanoseconds(1), before: .seconds(5))
      try await expectRejection(of: result, with: TimeoutError.self)
      let later = try timeoutOfClosedLoop(.hours(1), before: .hours(2))
      try expectPending(later)
    }

    /// Returns a promise that never settles, with a timeout on a loop that has shut down when this
    /// much was left of the time.
    private func timeoutOfClosedLoop(
      _ rest: TimeAmount, before amount: TimeAmount
    ) throws -> Promise<Int> {
      let loop = EmbeddedEventLoop()
      let result = Promise<Int>.never.timeout(after: amount, on: loop)
      loop.advanceTime(by: amount - rest)
      try loop.syncShutdownGracefully()
      return result
    }

    @Test func loopThatHasShutDown_leavesTheTimeToTheLibrary() async throws {
      let (loop, pending) = try await withLoop { loop in
        (loop, Promise<Int>.never.timeout(after: .milliseconds(10), on: loop))
      }
      let result = Promise<Int>.never.timeout(after: .nanoseconds(1), on: loop)
      try await expectRejection(of: result, with: TimeoutError.self)
      try await expectRejection(of: pending, with: TimeoutError.self)
    }

    @Test func timer_isGoneOnceThePromiseHasSettled() throws {
      let (loop, tracker) = (EmbeddedEventLoop(), LifetimeTracker())
      let (promise, resolver) = Promise<LifetimeTracker.Token>.withResolvers()
      var result: Promise<LifetimeTracker.Token>? = promise.timeout(after: .hours(1), on: loop)
      resolver.fulfill(tracker.track())
      #expect(result?.isPending == false)
      // The loop removes a cancelled task as soon as it runs.
      loop.run()
      #expect(tracker.liveCount == 1)
      result = nil
      withExtendedLifetime(promise) {}
    }

    @Test func deadlineWithoutALoop_rejects() async throws {
      let result = Promise<Int>.never.deadline(.now() + .milliseconds(1))
      try await expectRejection(of: result, with: TimeoutError.self)
    }

    @Test func scheduledTask_isCancelledWithItsPromise() async throws {
      let (loop, ran) = (EmbeddedEventLoop(), CallCounter())
      let task = loop.scheduleTask(in: .seconds(1)) { ran.call() }
      let promise = task.promise
      promise.cancel()
      loop.advanceTime(by: .seconds(2))
      try await expectCancellation(of: promise)
      try ran.expectNever()
    }

    @Test func cancelledScheduledTask_rejectsItsPromiseWithACancellation() async throws {
      let loop = EmbeddedEventLoop()
      let task = loop.scheduleTask(in: .seconds(1)) { 1 }
      let promise = task.promise
      task.cancel()
      try await expectCancellation(of: promise)
      let done = loop.scheduleTask(in: .seconds(1)) { 2 }.promise
      loop.advanceTime(by: .seconds(1))
      try await expectFulfillment(of: done, with: 2)
    }
  }
#endif
