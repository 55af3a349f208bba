@Suite struct TurnExecutorTests {
  /// The turns that were scheduled and have not run.
  private let turns = Box<[@Sendable () -> Void]>([])
  private let asked = CallCounter()

  private func executor(isCurrent: @escaping @Sendable () -> Bool = { false }) -> TurnExecutor {
    TurnExecutor(name: "by hand", isCurrent: isCurrent) { [turns, asked] turn in
      asked.call()
      turns.update { $0.append(turn) }
    }
  }

  private func runTurn() {
    var turn: (@Sendable () -> Void)?
    turns.update { turn = $0.removeFirst() }
    turn?()
  }

  private func dropTurns() {
    var dropped: [@Sendable () -> Void] = []
    turns.update { swap(&dropped, &$0) }
    // Released outside the box, because releasing turns settles promises.
    dropped.removeAll()
  }

  @Test func handlersThatWaitTogether_runInOneTurn_inOrder() throws {
    let executor = executor()
    let order = Recorder<Int>()
    let (promise, resolver) = Promise<Void>.withResolvers()
    for number in 0..<50 { promise.done(on: executor) { order.record(number) }.ignoreErrors() }
    resolver.fulfill(())
    #expect(order.count == 0)
    runTurn()
    #expect(order.events == Array(0..<50))
    #expect(asked.count == 1)
  }

  @Test func longChain_takesATurnForEach128Handlers() throws {
    let executor = executor()
    var last = Promise.value(0)
    for _ in 0..<300 { last = last.map(on: executor) { $0 + 1 } }
    runTurn()
    try expectPending(last)
    runTurn()
    runTurn()
    #expect(last.state == "fulfilled: 300")
    #expect(asked.count == 3)
    #expect(turns.value.isEmpty)
  }

  @Test func executorThatIsGivenAsAny_keepsItsTurns() throws {
    let executor: any PromiseExecutor = executor()
    let promise = Promise.value(1)
    let results = (0..<3).map { number in promise.map(on: executor) { $0 + number } }
    runTurn()
    #expect(results.map(\.state) == (1...3).map { "fulfilled: \($0)" })
    #expect(asked.count == 1)
  }

  @Test func jobThatIsEnqueuedByHand_keepsItsPlace() throws {
    let executor = executor()
    let order = Recorder<String>()
    // It forwards its jobs, as a wrapper does.
    let relay = ClosureExecutor { executor.enqueue($0) }
    Promise.value(()).done(on: executor) { order.record("first") }.ignoreErrors()
    Promise.value(()).done(on: relay) { order.record("second") }.ignoreErrors()
    Promise.value(()).done(on: executor) { order.record("third") }.ignoreErrors()
    runTurn()
    #expect(order.events == ["first", "second", "third"])
  }

  @Test func droppedTurn_breaksThePromisesOfItsHandlers_andThoseBehindThem() throws {
    let executor = executor()
    let tracker = LifetimeTracker()
    let token = tracker.track()
    let first = Promise.value(1).map(on: executor) { value in withExtendedLifetime(token) { value }
    }
    let unrelated = Promise.value(2).map(on: executor) { $0 }
    dropTurns()
    for promise in [first, unrelated] {
      let error = #expect(throws: BrokenPromiseError.self) { try promise.currentResult?.get() }
      #expect(error?.reason == .executorDroppedJob)
      promise.ignoreErrors()
    }
    let recovered = first.recover(on: executor) { _ in .value(3) }
    runTurn()
    #expect(recovered.state == "fulfilled: 3")
  }

  @Test func executorThatDropsAJobInsideEnqueue_breaksItsPromise_afterOtherJobsAreEnqueued() {
    let closed: [any PromiseExecutor] = [
      ClosureExecutor { _ in }, TurnExecutor(name: "closed") { _ in },
    ]
    for dropping in closed {
      let order = Recorder<String>()
      let next = ClosureExecutor { _ in order.record("enqueued") }
      let (promise, resolver) = Promise<Void>.withResolvers()
      promise.done(on: dropping) {}.catch(on: .immediate) { _ in order.record("dropped") }
      promise.done(on: next) {}.ignoreErrors()
      resolver.fulfill()
      #expect(order.events == ["enqueued", "dropped"])
      let later = promise.map(on: dropping) { 1 }
      #expect(throws: BrokenPromiseError.self) { try later.currentResult?.get() }
      later.ignoreErrors()
    }
  }

  @Test func droppedTurnsOfALongChain_takeConstantStack() async {
    await outsideTasks {
      let executor = TurnExecutor(name: "drops all") { _ in }
      var last = Promise.value(0)
      for _ in 0..<20_000 { last = last.recover(on: executor) { _ in .value(0) } }
      let result = last.map(on: executor) { $0 }
      #expect(throws: BrokenPromiseError.self) { try result.currentResult?.get() }
      result.ignoreErrors()
    }
  }

  @Test func turnThatIsRunAtOnce_orTwice_runsEachHandlerOnce_inConstantStack() async {
    await outsideTasks {
      let ran = CallCounter()
      let executor = TurnExecutor(name: "at once") { turn in
        turn()
        turn()
      }
      let (first, resolver) = Promise<Int>.withResolvers()
      var last = first
      for _ in 0..<20_000 {
        last = last.map(on: executor) { value in
          ran.call()
          return value + 1
        }
      }
      resolver.fulfill(0)
      #expect(last.state == "fulfilled: 20000")
      #expect(ran.count == 20_000)
    }
  }

  @Test func waitOnTheExecutorsThread_forAHandlerThere_throws() throws {
    let executor = executor(isCurrent: { true })
    let promise = Promise.value(1).map(on: executor) { $0 }
    let deeper = promise.map(on: .immediate) { $0 }
    #expect(throws: DeadlockError.self) { try deeper.wait() }
    runTurn()
    #expect(try deeper.wait() == 1)
  }

  @Test func handlersReleasedUncalled_areReleasedOnTheExecutor() throws {
    let executor = executor()
    let tracker = LifetimeTracker()
    do {
      let token = tracker.track()
      Promise<Int>.rejected(Boom()).done(on: executor) { _ in _ = token }.ignoreErrors()
    }
    #expect(tracker.liveCount == 1)
    while !turns.value.isEmpty { runTurn() }
    #expect(tracker.liveCount == 0)
  }
}
