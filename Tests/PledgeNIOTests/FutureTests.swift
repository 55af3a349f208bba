#if NIO
  @_spi(DropIns) import Pledge

  @Suite struct FutureToPromise {
    @Test func value_fulfills() async throws {
      let held = Held<Int>()
      let promise = held.future.promise
      try expectPending(promise)
      held.promise.succeed(3)
      try await expectFulfillment(of: promise, with: 3)
      try await expectFulfillment(of: held.future.promise, with: 3)
    }

    @Test func error_rejects() async throws {
      let held = Held<Int>()
      held.promise.fail(Boom())
      try await expectRejection(of: held.future.promise, with: Boom())
    }

    @Test func consumerThatGivesUp_leavesTheFutureAndItsOtherConsumersAlone() async throws {
      let held = Held<Int>()
      let given = held.future.promise
      let other = held.future.promise
      let native = held.future.map { $0 + 1 }
      given.cancel()
      try await expectCancellation(of: given)
      try expectPending(other)
      held.promise.succeed(1)
      try await expectFulfillment(of: other, with: 1)
      #expect(try await native.get() == 2)
    }

    /// As of a channel's `closeFuture`, whose promise later consumers need.
    @Test(arguments: ["handler", "task", "timeout"])
    func onlyConsumerThatGivesUp_leavesThePromiseToTheNext(kind: String) async throws {
      let held = Held<Int>()
      let closed = held.future.promise
      switch kind {
      case "handler": closed.map(on: .immediate) { $0 }.cancel()
      case "timeout":
        try await expectRejection(of: closed.timeout(after: .zero), with: TimeoutError.self)
      default:
        let task = Task { try await closed.value }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      try expectPending(closed)
      let next = closed.map(on: .immediate) { $0 + 1 }
      held.promise.succeed(1)
      try await expectFulfillment(of: next, with: 2)
    }

    @Test func consumerThatGivesUp_tellsTheProducer_once() async throws {
      let held = Held<Int>()
      let told = CallCounter()
      let promise = held.future.promise(onCancel: { told.call() })
      let first = promise.map(on: .immediate) { $0 }
      let second = promise.map(on: .immediate) { $0 }
      first.cancel()
      try told.expectNever()
      second.cancel()
      try told.expectOnce()
      try await expectCancellation(of: promise)
      held.promise.fail(Boom())
      promise.cancel()
      try told.expectOnce()
    }

    @Test func producerThatFailsTheFutureWithAnErrorOfItsOwn_leavesACancellation() async throws {
      try await withLoop { loop in
        let held = Held<Int>(on: loop)
        let promise = held.future.promise(onCancel: { held.promise.fail(Boom()) })
        // On the loop, the future's callbacks run inside of the call that fails it.
        try await loop.submit { promise.cancel() }.get()
        try await expectCancellation(of: promise)
        await #expect(throws: Boom.self) { try await held.future.get() }
      }
    }

    @Test func completedFuture_tellsTheProducerNothing() async throws {
      let told = CallCounter()
      let promise = someLoop.makeSucceededFuture(1).promise(onCancel: { told.call() })
      try await expectFulfillment(of: promise, with: 1)
      promise.cancel()
      try told.expectNever()
    }

    @Test func futureOfATask_thatFailsWithACancellation_rejectsWithIt() async throws {
      let future = someLoop.makeFutureWithTask { () -> Int in throw CancellationError() }
      try await expectCancellation(of: future.promise)
    }
  }

  @Suite struct PromiseToFuture {
    @Test(arguments: [true, false])
    func value_succeedsTheFuture_onItsLoop(settledBefore: Bool) async throws {
      try await withLoop { loop in
        let (promise, resolver) = Promise<Int>.withResolvers()
        if settledBefore { resolver.fulfill(4) }
        let future = promise.future(on: loop)
        let isOnLoop = future.map { _ in loop.inEventLoop }
        resolver.fulfill(4)
        let value = try await future.get()
        #expect(value == 4)
        let wasOnLoop = try await isOnLoop.get()
        #expect(wasOnLoop)
      }
    }

    @Test(arguments: [true, false])
    func futuresAndHandlersOnTheirLoop_runInTheOrderOfAttachment(onLoop: Bool) async throws {
      try await withLoop { loop in
        let (promise, resolver) = Promise<Void>.withResolvers()
        var ends: [EventLoopFuture<Void>] = []
        let order = Recorder<Int>()
        for number in 0..<200 {
          // Each second future depends on a handler that is attached after the first future.
          let next =
            switch number % 4 {
            case 1: promise.then(on: .eventLoop(loop)) { .value(()) }
            case 3: promise.then(on: .global) { .value(()) }
            default: promise
            }
          ends.append(next.future(on: loop).map { order.record(number) })
        }
        if onLoop { loop.execute { resolver.fulfill() } } else { resolver.fulfill() }
        for end in ends { try await end.get() }
        #expect(order.events.filter { $0 % 2 == 0 } == Array(stride(from: 0, to: 200, by: 2)))
        for number in stride(from: 1, to: 200, by: 2) {
          let position = try #require(order.events.firstIndex(of: number))
          #expect(try #require(order.events.firstIndex(of: number - 1)) < position)
        }
      }
    }

    @Test func error_failsTheFuture_andCountsAsHandled() async throws {
      let future = Promise<Int>.rejected(Boom()).future(on: someLoop)
      await #expect(throws: Boom.self) { try await future.get() }
    }

    @Test func guarantee_succeedsTheFuture() async throws {
      #expect(try await Guarantee.value(5).future(on: someLoop).get() == 5)
    }

    @Test func cancellation_failsTheFuture() async throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let future = promise.future(on: someLoop)
      promise.cancel()
      await #expect(throws: CancellationError.self) { try await future.get() }
      withExtendedLifetime(resolver) {}
    }

    @Test func cancellationOfAnotherConsumer_leavesTheFutureAlone() async throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let future = promise.future(on: someLoop)
      promise.map(on: .immediate) { $0 }.cancel()
      resolver.fulfill(6)
      #expect(try await future.get() == 6)
    }

    @Test(arguments: [true, false])
    func abandonedPromise_failsTheFuture(before: Bool) async throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      if before { resolver.abandon() }
      let future = promise.future(on: someLoop)
      resolver.abandon()
      let error = await #expect(throws: BrokenPromiseError.self) { try await future.get() }
      #expect(error?.reason == .abandoned)
    }

    @Test func droppedResolver_failsTheFuture() async throws {
      let future = Promise<Int> { _ in }.future(on: someLoop)
      let error = await #expect(throws: BrokenPromiseError.self) { try await future.get() }
      #expect(error?.reason == .resolverDropped)
    }

    @Test func embeddedLoop_seesTheValueWhenItRuns() throws {
      let loop = EmbeddedEventLoop()
      let (promise, resolver) = Promise<Int>.withResolvers()
      let result = promise.map(on: .eventLoop(loop)) { $0 + 1 }.future(on: loop).promise
      resolver.fulfill(1)
      try expectPending(result)
      loop.run()
      #expect(result.currentResult.map { try? $0.get() } == 2)
    }
  }

  @Suite struct EventLoopPromises {
    @Test func promiseOfAResolver_settlesItsPromise() async throws {
      let fulfilled = Promise { resolver in resolver.eventLoopPromise(on: someLoop).succeed(7) }
      try await expectFulfillment(of: fulfilled, with: 7)
      let rejected = Promise<Int> { resolver in
        resolver.eventLoopPromise(on: someLoop).fail(Boom())
      }
      try await expectRejection(of: rejected, with: Boom())
    }

    @Test func promiseOfAResolver_keepsItPending() async throws {
      try await withLoop { loop in
        let given = Recorder<EventLoopPromise<Int>>()
        let promise = Promise { resolver in given.record(resolver.eventLoopPromise(on: loop)) }
        // A round through the loop: the promise would be rejected if its resolver were gone.
        try await loop.submit {}.get()
        try expectPending(promise)
        given.events[0].succeed(8)
        try await expectFulfillment(of: promise, with: 8)
      }
    }

    @Test func completionAfterTheFact_changesNothing() async throws {
      try await withLoop { loop in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let late = resolver.eventLoopPromise(on: loop)
        promise.cancel()
        late.fail(Boom())
        try await expectCancellation(of: promise)
      }
    }

    @Test func completeWith_completes() async throws {
      let held = Held<Int>()
      held.promise.completeWith(Promise.value(9))
      #expect(try await held.future.get() == 9)
    }
  }
#endif
