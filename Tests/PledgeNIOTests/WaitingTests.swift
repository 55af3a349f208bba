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
  }
#endif
