#if NIO
  @Suite struct ExecutorTests {
    @Test(arguments: [true, false]) func handler_runsOnTheLoop(settledBefore: Bool) async throws {
      try await withLoop { loop in
        let (promise, resolver) = Promise<Int>.withResolvers()
        if settledBefore { resolver.fulfill(1) }
        let result = promise.map(on: .eventLoop(loop)) { value in loop.inEventLoop ? value : -1 }
        resolver.fulfill(1)
        try await expectFulfillment(of: result, with: 1)
      }
    }

    @Test func handlersOfSeparateExecutorsOfOneLoop_runInTheOrderOfAttachment() async throws {
      try await withLoop { loop in
        let order = Recorder<Int>()
        let (promise, resolver) = Promise<Void>.withResolvers()
        for number in 0..<500 {
          promise.done(on: .eventLoop(loop)) { order.record(number) }.ignoreErrors()
        }
        resolver.fulfill(())
        for number in 500..<1000 {
          promise.done(on: .eventLoop(loop)) { order.record(number) }.ignoreErrors()
        }
        try await expectFulfillment(of: promise.map(on: .eventLoop(loop)) {})
        #expect(order.events == Array(0..<1000))
      }
    }

    @Test func handlersOfAnActorOnALoop_runThere() async throws {
      try await withLoop { loop in
        let actor = LoopActor(loop)
        try await expectFulfillment(of: actor.isOnLoop(), with: true)
      }
    }

    @Test func loopThatHasShutDown_rejectsThePromisesOfItsHandlers() async throws {
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let loop = group.next()
      let executor = TurnExecutor.eventLoop(loop)
      try await group.shutdownGracefully()
      let first = Promise.value(1).map(on: executor) { $0 }
      let second = first.recover(on: executor) { _ in .value(2) }
      try await expectRejection(of: first, with: BrokenPromiseError.self)
      try await expectRejection(of: second, with: BrokenPromiseError.self)
    }

    @Test func executorThatIsNotUsedAnyMore_keepsNoLoop() throws {
      weak var released: EmbeddedEventLoop?
      do {
        let loop = EmbeddedEventLoop()
        released = loop
        let promise = Promise.value(1).map(on: .eventLoop(loop)) { $0 }
        loop.run()
        #expect(!promise.isPending)
      }
      #expect(released == nil)
    }
  }

  private actor LoopActor {
    private let loop: any EventLoop
    private nonisolated let executor: any SerialExecutor

    init(_ loop: any EventLoop) {
      self.loop = loop
      executor = loop.executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func isOnLoop() -> Promise<Bool> { Promise.value(()).map { self.loop.inEventLoop } }
  }
#endif
