#if NIO
  import NIOCore
  import NIOEmbedded
  import NIOPosix
  import Pledge
  import PledgeNIO
  import PledgeTesting
  import Testing

  @Suite struct ExecutorTests {
    @Test(arguments: [true, false])
    func handler_runsOnTheLoop(settledBefore: Bool) async throws {
      try await withLoop { loop in
        let (promise, resolver) = Promise<Int>.withResolvers()
        if settledBefore { resolver.fulfill(1) }
        let result = promise.map(on: .eventLoop(loop)) { value in
          loop.inEventLoop ? value : -1
        }
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

    @Test func handlersThatWaitTogether_runInOneVisit() throws {
      let loop = EmbeddedEventLoop()
      let visits = CountingLoop(loop)
      let ran = CallCounter()
      let executor = visits.executor
      let (promise, resolver) = Promise<Void>.withResolvers()
      for _ in 0..<100 { promise.done(on: executor) { ran.call() }.ignoreErrors() }
      resolver.fulfill(())
      #expect(ran.count == 0)
      loop.run()
      #expect(ran.count == 100)
      #expect(visits.count == 1)
    }

    @Test func chainOnTheLoop_takesOneVisitForItsTurn_andLeavesRoomForOthers() throws {
      let loop = EmbeddedEventLoop()
      let visits = CountingLoop(loop)
      var last = Promise.value(0)
      for _ in 0..<1000 { last = last.map(on: visits.executor) { $0 + 1 } }
      // Enqueued behind the first turn: it runs before the last one.
      let seen = Recorder<Bool>()
      loop.execute { [last] in seen.record(last.isPending) }
      loop.run()
      #expect(last.currentResult.map { try? $0.get() } == 1000)
      #expect(seen.events == [true])
      #expect((8...9).contains(visits.count))
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

  /// Counts the tasks that an executor of this loop takes.
  private final class CountingLoop: Sendable {
    private let calls = CallCounter()
    let executor: TurnExecutor

    init(_ loop: EmbeddedEventLoop) {
      let loop = NIOLoopBound(loop, eventLoop: loop)
      executor = TurnExecutor(name: "counting") { [calls] turn in
        calls.call()
        loop.value.execute(turn)
      }
    }

    var count: Int { calls.count }
  }

  private actor LoopActor {
    private let loop: any EventLoop
    private nonisolated let executor: any SerialExecutor

    init(_ loop: any EventLoop) {
      self.loop = loop
      executor = loop.executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func isOnLoop() -> Promise<Bool> {
      Promise.value(()).map { self.loop.inEventLoop }
    }
  }
#endif
