/// Contract, line 14: `wait()` throws in a task, on an event loop, and on an executor that the
/// promise needs; anywhere else, it waits.
@Suite(.apart) struct Waiting {
  private func expectDeadlock<T>(
    _ result: Result<T, any Error>, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(throws: DeadlockError.self, sourceLocation: sourceLocation) { try result.get() }
  }

  @Test func line14_onAThread_returnsTheResult() async throws {
    let results = await outsideTasks {
      try When.allCases.map { when in
        do { _ = try when.reject { $0 }.wait() } catch { #expect(error is Boom) }
        return try when.fulfill(1) { $0 }.wait()
      }
    }
    #expect(try results.get() == [1, 1, 1])
  }

  @Test func line14_onTheMainThread_forAnythingElse_waits() async throws {
    let result = await outsideTasks(onMain: true) {
      try Promise.value(1).map(on: .global) { $0 + 1 }.wait()
    }
    #expect(try result.get() == 2)
  }

  // Dispatch has other threads for the inner handler, which must not be deferred to this turn.
  @Test(
    arguments: [
      [Place.global.executor], [DispatchQueue.global()], [DispatchQueue.global(qos: .utility)],
      [DispatchQueue(label: "first"), DispatchQueue(label: "second")],
    ] as [[any PromiseExecutor]])
  func line14_onAGlobalQueue_orForAnotherQueue_waits(_ queues: [any PromiseExecutor]) async throws {
    let (first, second) = (queues[0], queues[queues.count - 1])
    let promise = Promise.value(1).map(on: first) { value in
      try Promise.value(value).map(on: second) { $0 + 1 }.wait()
    }
    try await expectFulfillment(of: promise, with: 2)
  }

  @Test func line14_onTheMainThread_forARaceThatAnotherExecutorCanWin_waits() async throws {
    let result = await outsideTasks(onMain: true) {
      let free = Promise.value(2).map(on: .global) { $0 }
      return try Promise.race([Promise.value(1).map(on: DispatchQueue.main) { $0 }, free]).wait()
    }
    #expect(try result.get() == 2)
  }

  @Test func line14_inATask_throws_unlessThePromiseHasSettled() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    #expect(throws: DeadlockError.self) { try wait(promise) }
    resolver.fulfill(1)
    #expect(try wait(promise) == 1)
  }

  @MainActor @Test func line14_inATaskOnTheMainActor_throws() async throws {
    let (start, resolver) = Promise<Int>.withResolvers()
    let promise = start.map(on: .global) { $0 }
    #expect(throws: DeadlockError.self) { try wait(promise) }
    resolver.fulfill(1)
    try await expectFulfillment(of: promise, with: 1)
  }

  @Test func line14_inHandlersOfManyActors_throws() async throws {
    let promise = Promise<Int>.never
    let waits: [Promise<Int>] = (0..<8).map { _ in
      Promise.value(1).map(on: .actor(DefaultActor())) { _ in try promise.wait() }
    }
    for wait in waits { try await expectRejection(of: wait, with: DeadlockError.self) }
  }

  @Test func line14_onTheMainThread_forAHandlerOnTheMainThread_throws() async throws {
    let (start, resolver) = Promise<Int>.withResolvers()
    let handlers = [
      start.map(on: DispatchQueue.main) { $0 }, start.map { @MainActor in $0 },
      start.map(on: DispatchQueue.main) { $0 }, start.map(on: QueueExecutor(.main)) { $0 },
      start.map(on: QueueExecutor(.main, group: DispatchGroup())) { $0 },
      start.map(on: .actor(MainExecutorActor())) { $0 }, start.asyncMap { @MainActor in $0 },
    ]
    for handler in handlers.dropLast() {
      let deeper = handler.map(on: .immediate) { $0 }.then(on: .global) { Promise.value($0) }
      expectDeadlock(await outsideTasks(onMain: true) { try handler.wait() })
      expectDeadlock(await outsideTasks(onMain: true) { try deeper.wait() })
    }
    resolver.fulfill(1)
    for handler in handlers { try await expectFulfillment(of: handler, with: 1) }
  }

  @Test func line14_onTheMainThread_forATaskOnTheMainActor_throws() async throws {
    expectDeadlock(
      await outsideTasks(onMain: true) { try Promise { @MainActor in await one() }.wait() })
    expectDeadlock(
      await outsideTasks(onMain: true) {
        try Promise.value(1).asyncMap { @MainActor in await one() + $0 }.wait()
      })
  }

  @Test(arguments: [nil, DispatchGroup()])
  func line14_inAHandler_forTheSameSerialQueue_throws(group: DispatchGroup?) async throws {
    let queue = DispatchQueue(label: "wait")
    let executor = QueueExecutor(queue, group: group)
    let promises = [
      Promise.value(1).map(on: queue) { try Promise.value($0).map(on: queue) { $0 }.wait() },
      Promise.value(1).map(on: executor) { try Promise.value($0).map(on: executor) { $0 }.wait() },
      Promise.value(1).map(on: queue) { try Promise.value($0).map(on: executor) { $0 }.wait() },
    ]
    for promise in promises { try await expectRejection(of: promise, with: DeadlockError.self) }
  }

  @Test func line14_inAHandler_forItsOwnPromise_throws() async throws {
    let itself = Box<Promise<Int>?>(nil)
    let (start, resolver) = Promise<Int>.withResolvers()
    let promise = start.map(on: .global) { value in
      try itself.value?.map(on: .immediate) { $0 }.wait() ?? value
    }
    itself.value = promise
    resolver.fulfill(1)
    try await expectRejection(of: promise, with: DeadlockError.self)
    itself.value = nil
  }

  @Test(arguments: Work.allCases)
  func line14_forWorkThatNeedsTheSameExecutor_throws(_ work: Work) async throws {
    let queue = DispatchQueue(label: "wait")
    let promise = Promise.value(1).map(on: queue) { value in
      try work.promise { Promise.value(value).map(on: queue) { $0 } }.wait()
    }
    try await expectRejection(of: promise, with: DeadlockError.self)
    expectDeadlock(
      await outsideTasks(onMain: true) {
        try work.promise { Promise.value(1).map(on: DispatchQueue.main) { $0 } }.wait()
      })
  }

  @Test func line14_requestsThatWaitForEachOther_areLeftWaiting() async throws {
    // The search must end, although what it follows is a cycle.
    let requests = RequestCoalescer<String, Int>()
    let (gate, resolver) = Promise<Void>.withResolvers()
    // Handlers that make these requests themselves would be noticed.
    let requested = Box<[String: Promise<Int>]>([:])
    @Sendable func request(_ key: String, waitingFor other: String) -> Promise<Int> {
      requests.promise(for: key) {
        gate.then(on: .immediate) { requested.value[other] ?? .value(1) }
      }
    }
    let first = request("a", waitingFor: "b")
    let second = request("b", waitingFor: "a")
    requested.value = ["a": request("a", waitingFor: "b"), "b": request("b", waitingFor: "a")]
    resolver.fulfill(())
    let started = Recorder<Bool>()
    let waiting = Promise.value(()).map(on: DispatchQueue(label: "wait")) { _ in
      started.record(true)
      return try first.wait()
    }
    await started.reaches(1).value
    first.cancel()
    second.cancel()
    for promise in requested.value.values { promise.cancel() }
    requested.value = [:]
    try await expectRejection(of: waiting, with: CancellationError.self)
  }

  @Test func line14_inAHandlerInPlace_forALaterOneOfTheSamePromise_runsThat() async throws {
    _ = try await outsideTasks {
      let order = Recorder<String>()
      let (promise, resolver) = Promise<Int>.withResolvers()
      let (other, otherResolver) = Promise<Int>.withResolvers()
      let last = Box<Promise<Int>?>(nil)
      let first = promise.map(on: .immediate) { value in
        order.record("first")
        otherResolver.fulfill(value)
        return try last.value?.wait() ?? 0
      }
      // Waits for a handler of the delivery around its own.
      let nested = other.map(on: .immediate) { _ in
        order.record("nested")
        return try last.value?.wait() ?? 0
      }
      let sibling = other.map(on: .immediate) { _ in order.record("sibling") }
      last.value = promise.map(on: .immediate) { value in
        order.record("last")
        return value + 1
      }
      resolver.fulfill(1)
      #expect([first, nested].map(\.state) == ["fulfilled: 2", "fulfilled: 2"])
      #expect(!sibling.isPending)
      #expect(order.events == ["first", "nested", "sibling", "last"])
      last.value = nil
    }.get()
  }

  @Test func line14_guaranteesToo() async throws {
    #expect(try await outsideTasks { try Guarantee.value(1).wait() }.get() == 1)
    expectDeadlock(
      await outsideTasks(onMain: true) {
        try Guarantee.value(1).asyncMap { @MainActor number in number }.wait()
      })
  }

  /// Combinators whose result waits for all inputs, and services whose promise settles as the work
  /// that they start.
  enum Work: CaseIterable {
    case all, pair, settled, nested, limiter, bounded, coalescer, using

    func promise(_ start: @escaping @Sendable () -> Promise<Int>) -> Promise<Int> {
      switch self {
      case .all: Promise.all([.value(0), start()]).map(on: .immediate) { $0[1] }
      case .pair: Promise.all(Promise.value("a"), start()).map(on: .immediate) { $1 }
      case .settled: Promise.allSettled([start()]).map(on: .immediate) { try $0[0].get() }
      case .nested: Work.all.promise { Work.pair.promise(start) }
      case .limiter: Limiter(1).run(on: .immediate) { start() }
      case .bounded:
        Promise.all(on: .immediate, [1, 2], concurrently: 1) { $0 == 2 ? .value(2) : start() }
          .map(on: .immediate) { $0[0] }
      case .coalescer: RequestCoalescer<Int, Int>().promise(for: 1) { start() }
      case .using: .using(start(), release: { _ in }) { .value($0) }
      }
    }
  }
}

private func one() async -> Int { 1 }

private actor DefaultActor {}
