/// A balance that is read in one handler and written in another.
private final class Account: Sendable {
  private let state: Recorder<Int>

  init(balance: Int) {
    state = Recorder()
    state.record(balance)
  }

  var balance: Int { state.events.last ?? 0 }
  func write(_ balance: Int) { state.record(balance) }

  /// Reads and writes in one handler.
  func paySafely(_ amount: Int, on executor: some PromiseExecutor) -> Promise<Void> {
    Promise.value(amount).done(on: executor) { [self] in write(balance + $0) }
  }

  /// A lost update: reads, passes through another handler, and writes.
  func pay(_ amount: Int, on executor: some PromiseExecutor) -> Promise<Void> {
    Promise.value(amount).map(on: executor) { [self] amount in balance + amount }
      .done(on: executor) { [self] in write($0) }
  }
}

@Suite struct Exploring {
  private func failure(
    _ orders: Orders = .all(), time: SimulatedTime = .passesWhenIdle, steps: Int = 10_000,
    patience: Duration = .seconds(30),
    _ body: @escaping @Sendable (Simulation) async throws -> Void
  ) async throws -> FailingOrderError {
    try await #require(throws: FailingOrderError.self) {
      try await explore(orders, time: time, steps: steps, patience: patience, body)
    }
  }

  private static let lostUpdate: @Sendable (Simulation) async throws -> Void = { simulation in
    let account = Account(balance: 100)
    let till = simulation.executor("till")
    let office = simulation.executor("office")
    let door = simulation.executor("door")
    // The office starts late, so the default order succeeds.
    let start = Promise.value(()).map(on: door) {}.map(on: door) {}.map(on: door) {}
    let second = start.then(on: office) { account.pay(20, on: office) }
    _ = try await Promise.all(account.pay(10, on: till), second).value
    try simulation.expect(account.balance == 130, "The balance is \(account.balance).")
  }

  @Test func lostUpdate_isFoundInAFewOrders() async throws {
    try await explore(.replay("plain"), Self.lostUpdate)
    let failure = try await failure(.all(), Self.lostUpdate)
    // Measured in orders rather than seconds, because the machine may be busy: 20 orders take some
    // milliseconds.
    #expect((2...20).contains(failure.orderCount))
    #expect(failure.isRepeatable)
    #expect((failure.error as? ExpectationError)?.message.hasPrefix("The balance is ") == true)
    #expect(failure.description.contains("explore(.replay(\"\(failure.order)\"))"))
    #expect(failure.description.contains("office, made by step "))
  }

  @Test func lostUpdate_onSerialQueues_isFound() async throws {
    let failure = try await failure { simulation in
      let account = Account(balance: 100)
      let queues = ["till", "office"].map { DispatchQueue(label: $0) }
      _ = try await Promise.all(queues.map { account.pay(10, on: $0) }).value
      try simulation.expect(account.balance == 120, "The balance is \(account.balance).")
    }
    #expect(failure.isRepeatable)
    #expect(failure.steps.contains { $0.contains(". office, made by step ") })
  }

  @Test func failingOrder_failsAgainInTheSameSteps() async throws {
    for orders in [Orders.all(), .random(seed: 7)] {
      let found = try await failure(orders, Self.lostUpdate)
      let again = try await failure(.replay(found.order), Self.lostUpdate)
      #expect(again.steps == found.steps && again.order == found.order)
      #expect(again.orderCount == 1)
    }
  }

  @Test func sameSeed_triesTheSameOrders() async throws {
    let first = try await failure(.random(seed: 42), Self.lostUpdate)
    let second = try await failure(.random(seed: 42), Self.lostUpdate)
    #expect(first.order == second.order && first.orderCount == second.orderCount)
  }

  @Test(arguments: ["in the body", "on an executor", "in a detached task"])
  func forgottenCatch_fails(place: String) async throws {
    let failure = try await failure { simulation in
      switch place {
      case "in the body": _ = Promise<Int>.rejected(Boom()).map { $0 }
      case "on an executor":
        _ = Promise.value(1).map(on: simulation.executor("x")) { _ in throw Boom() }
      default: await Task.detached { _ = Promise<Int>.rejected(Boom()).map { $0 } }.value
      }
    }
    #expect("\(failure.error)".hasPrefix("unhandled rejection: Boom("), "\(failure)")
  }

  @Test func timeoutOfWorkOnDefaultExecutors_isNoFalseAlarm() async throws {
    let queue = DispatchQueue(label: "queue")
    for _ in 0..<20 {
      let report = try await explore(.all(limit: 20)) { simulation in
        let work = Promise.value(1).map { $0 + 1 }.map(on: queue) { number in
          dispatchPrecondition(condition: .onQueue(queue))
          return number + 1
        }.then { number in Promise { number + 1 } }
        let limited = work.timeout(after: .seconds(30), clock: simulation.clock)
        try await expectFulfillment(of: limited, with: 4)
        let main = Promise.value(1).map { @MainActor in $0 }
          .timeout(after: .seconds(30), clock: simulation.clock)
        try await expectFulfillment(of: main, with: 1)
      }
      #expect(report.orderCount > 0)
    }
  }

  @Test func timeoutOfOutsideWork_isNoFalseAlarm_ifFollowed() async throws {
    let slow: @Sendable () -> Promise<Int> = {
      Promise { resolver in
        // Sometimes in time, if virtual time didn't pass at once.
        DispatchQueue.global().async { resolver.fulfill(1) }
      }
    }
    try await explore(.all(limit: 20)) { simulation in
      let work = simulation.clock.follow(slow()).timeout(
        after: .seconds(30), clock: simulation.clock)
      try await expectFulfillment(of: work, with: 1)
    }
  }

  @Test func correctProgram_passesInAllOrders() async throws {
    let report = try await explore { simulation in
      let account = Account(balance: 100)
      let executors = ["till", "office", "bank"].map { simulation.executor($0) }
      _ = try await Promise.all(executors.map { account.paySafely(10, on: $0) }).value
      try simulation.expect(account.balance == 130, "The balance is \(account.balance).")
    }
    #expect(report.isComplete)
    #expect(report.orderCount >= 6)
  }

  @Test func allOrders_areTriedOnce() async throws {
    let seen = Recorder<[Int]>()
    let report = try await explore { simulation in
      let order = Recorder<Int>()
      let jobs = (0..<4).map { number in
        Promise.value(number).done(on: simulation.executor("\(number)")) { order.record($0) }
      }
      _ = try await Promise.all(jobs).value
      seen.record(order.events)
    }
    #expect(report.isComplete)
    #expect(Set(seen.events).count == 24)
  }

  @Test func serialExecutor_keepsItsOrder_aConcurrentOneDoesNot() async throws {
    func orders(
      _ executor: @escaping @Sendable (Simulation) -> any PromiseExecutor
    ) async throws -> Set<[Int]> {
      let seen = Recorder<[Int]>()
      try await explore { simulation in
        let executor = executor(simulation)
        let order = Recorder<Int>()
        func run(_ number: Int, on executor: some PromiseExecutor) -> Promise<Void> {
          Promise.value(number).done(on: executor) { order.record($0) }
        }
        let jobs = (0..<3).map { run($0, on: executor) }
        _ = try await Promise.all(jobs).value
        seen.record(order.events)
      }
      return Set(seen.events)
    }
    #expect(try await orders { $0.executor("serial") } == [[0, 1, 2]])
    #expect(try await orders { _ in DispatchQueue(label: "serial") } == [[0, 1, 2]])
    #expect(try await orders { $0.concurrentExecutor("pool") }.count == 6)
    #expect(try await orders { _ in .global }.count == 6)
    #expect(try await orders { _ in DispatchQueue.global() }.count == 6)
  }

  @Test func deviations_andALimit_boundTheOrders() async throws {
    let fourJobs: @Sendable (Simulation) async throws -> Void = { simulation in
      let jobs = (0..<4).map { number in
        Promise.value(number).asVoid().done(on: simulation.executor("\(number)")) {}
      }
      _ = try await Promise.all(jobs).value
    }
    let bounded = try await explore(.all(deviations: 1), fourJobs)
    #expect(bounded.isComplete && bounded.orderCount > 1 && bounded.orderCount < 24)
    let cut = try await explore(.all(limit: 3), fourJobs)
    #expect(!cut.isComplete && cut.orderCount == 3)
  }

  private actor Counter {
    var value = 0
    func set(_ new: Int) { value = new }
    func read() -> Int { value }
  }

  @Test func tasksAndActors_areExplored() async throws {
    let failure = try await failure { simulation in
      let counter = Counter()
      let tasks = (0..<2).map { _ in
        Task {
          let value = await counter.read()
          await counter.set(value + 1)
        }
      }
      for task in tasks { await task.value }
      let value = await counter.value
      try simulation.expect(value == 2, "The counter is at \(value).")
    }
    let again = try await self.failure(.replay(failure.order)) { _ in throw CancellationError() }
    #expect(failure.isRepeatable && !again.steps.isEmpty)
  }

  @Test func yields_areSteps() async throws {
    let failure = try await failure { simulation in
      let counter = Counter()
      await Task {
        _ = await counter.read()
        for _ in 0..<3 { await Task.yield() }
      }.value
      throw CancellationError()
    }
    #expect(failure.isRepeatable)
  }

  @Test func virtualTime_passesByItself() async throws {
    let times = Recorder<Duration>()
    let report = try await explore { simulation in
      let clock = simulation.clock
      let slow = Promise.after(.seconds(3_600), clock: clock).map(on: simulation.executor("a")) {
        times.record(clock.now.offset)
      }
      try await slow.value
    }
    #expect(report.isComplete && times.events.allSatisfy { $0 == .seconds(3_600) })
    #expect(times.count == report.orderCount)
  }

  @Test func timersOfOneMoment_goOffInAnyOrder() async throws {
    let seen = Recorder<[Int]>()
    let report = try await explore { simulation in
      let order = Recorder<Int>()
      let timers = (0..<3).map { number in
        Promise.after(.seconds(1), clock: simulation.clock).done(on: .immediate) {
          order.record(number)
        }
      }
      _ = try await Promise.all(timers).value
      seen.record(order.events)
    }
    #expect(report.isComplete && Set(seen.events).count == 6)
  }

  @Test func timeout_canBeatAHandler_onlyIfTimePassesAnytime() async throws {
    let body: @Sendable (Simulation) async throws -> Void = { simulation in
      let work = Promise.value(1).map(on: simulation.executor("work")) { $0 }
        .map(on: simulation.executor("more")) { $0 }
      let result = await work.timeout(after: .seconds(9), clock: simulation.clock).result
      if case .failure(let error) = result { throw error }
    }
    #expect(try await explore(.all(), body).isComplete)
    let failure = try await failure(.all(), time: .passesAnytime, body)
    #expect(failure.error is TimeoutError)
    #expect(failure.steps.contains { $0.contains("a timer, at 9.0 seconds") })
    // The text is enough to replay it.
    #expect(failure.order.hasPrefix("anytime "))
    let again = try await self.failure(.replay(failure.order), body)
    #expect(again.steps == failure.steps && again.order == failure.order && again.isRepeatable)
  }

  @Test func bodyThatWaitsForNothing_isStuck() async throws {
    let failure = try await failure(patience: .milliseconds(1)) { simulation in
      let promise = Promise<Int>.never
      _ = try await promise.map(on: simulation.executor("a")) { $0 }.value
    }
    #expect(failure.description.contains("no step is ready"))
  }

  @Test(arguments: [(100, 100), (.min, 0)])
  func bodyWithoutEnd_runsOutOfSteps(limit: Int, count: Int) async throws {
    let failure = try await failure(steps: limit) { simulation in
      while true { try await simulation.clock.sleep(for: .seconds(1)) }
    }
    #expect(failure.description.contains("had not ended after \(count) steps"))
  }

  @Test(.timeLimit(.minutes(1)), arguments: [1, 10_000])
  func timeOfARun_isLinearInItsSteps(tasks: Int) async throws {
    let report = try await explore(.all(limit: 1)) { _ in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<tasks {
          group.addTask { for _ in 0..<30_000 / tasks { await Task.yield() } }
        }
      }
    }
    #expect(report.stepCount > 30_000)
  }

  @Test func descriptionOfALongOrder_isCut() async throws {
    let failure = try await failure(.random(seed: 1), steps: 100_000) { _ in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 { group.addTask { for _ in 0..<2_000 { await Task.yield() } } }
      }
      throw CancellationError()
    }
    #expect(failure.order.utf8.count > 5_000 && failure.description.utf8.count < 10_000)
    #expect(failure.description.contains("`order`"))
  }

  @Test func stepThatBlocks_isNamedOnStandardError() async {
    await #expect(processExitsWith: .success) {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0 && dup2(ends[1], 2) == 2)
      try await explore(patience: .zero) { [output = ends[0]] simulation in
        try await Promise.value(1).done(on: simulation.executor("a")) { _ in
          var event = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
          try simulation.expect(poll(&event, 1, 60_000) == 1, "It says nothing.")
          var text = [UInt8](repeating: 0, count: 200)
          let count = read(output, &text, 200)
          let line = String(decoding: text.prefix(count), as: UTF8.self)
          try simulation.expect(line.hasPrefix("An exploration waits for its step 2 (a)"), line)
        }.value
      }
    }
  }

  @Test func notes_standBelowTheirSteps() async throws {
    let failure = try await failure { simulation in
      try await Promise.value(7).done(on: simulation.executor("a")) { value in
        simulation.note("reads \(value)")
      }.value
      throw CancellationError()
    }
    let step = try #require(failure.steps.firstIndex { $0.contains(". a, made by step 1") })
    #expect(failure.steps[step + 1].hasSuffix("reads 7"))
  }

  @Test func workFromOutside_isSaid() async throws {
    let failure = try await failure { simulation in
      let (outside, resolver) = Promise<Int>.withResolvers()
      let inside = outside.map(on: simulation.executor("a")) { $0 }
      // Only after the executor waits for it; otherwise the settlement doesn't come from outside.
      DispatchQueue(label: "outside").async { resolver.fulfill(1) }
      _ = try await inside.value
      throw CancellationError()
    }
    #expect(!failure.isRepeatable)
    #expect(failure.description.contains("isn't repeatable, because work from outside"))
  }

  @Test func workOnTheMainActor_isFromOutside() async throws {
    let works: [@Sendable () -> Void] = [
      { Task { @MainActor in } }, { _ = Promise.value(1).done { @MainActor _ in } },
    ]
    for start in works {
      #expect(try await !explore { _ in start() }.isComplete)
      let failure = try await failure { _ in
        start()
        throw CancellationError()
      }
      #expect(!failure.isRepeatable && failure.description.contains("because work from outside"))
    }
  }

  @Test func handlersOfAQueueExecutor_areSteps_withItsGroupAndFlags() async throws {
    let queue = DispatchQueue(label: "queue", attributes: .concurrent)
    let group = DispatchGroup()
    let executor = QueueExecutor(queue, group: group, flags: .barrier)
    let seen = Recorder<[Int]>()
    let report = try await explore { simulation in
      let order = Recorder<Int>()
      let first = Promise.value(1).done(on: executor) {
        dispatchPrecondition(condition: .onQueueAsBarrier(queue))
        order.record($0)
      }
      let second = Promise.value(2).done(on: simulation.executor("a")) { order.record($0) }
      _ = try await Promise.all(first, second).value
      seen.record(order.events)
    }
    #expect(report.isComplete && Set(seen.events) == [[1, 2], [2, 1]])
    await withCheckedContinuation { end in group.notify(queue: queue) { end.resume() } }
  }

  @Test func otherReasons_areNoWorkFromOutside() async throws {
    let runs = CallCounter()
    let failures = [
      try await failure(.replay("40:3")) { _ in },
      try await failure { _ in if runs.call() == 1 { throw Boom() } },
    ]
    for failure in failures {
      #expect(!failure.isRepeatable)
      #expect(failure.description.contains("It isn't repeatable: in this order,"))
    }
  }

  @Test func followedPromise_thatNeverSettles_letsNoTimePass() async throws {
    let failure = try await failure(patience: .milliseconds(1)) { simulation in
      let promise = Promise<Int>.never
      let limited = simulation.clock.follow(promise)
        .timeout(after: .seconds(1), clock: simulation.clock)
      defer { promise.cancel() }
      _ = await limited.result
    }
    #expect(failure.description.contains("virtual time can't pass"))
  }

  @Test func timersStartedOutside_areSteps() async throws {
    try await explore(patience: .seconds(30)) { simulation in
      // The handler doesn't run on the simulation's executors, and starts its timer on the global
      // queue.
      let late = Promise.value(1).then(on: .global) { value in
        Promise.value(value).delay(.seconds(60), clock: simulation.clock)
      }
      try simulation.expect(try await late.value == 1, "The value is another.")
    }
    let failure = try await failure { simulation in
      let queue = DispatchQueue(label: "outside")
      let (started, start) = Promise<Void>.withResolvers()
      // Only when the simulation has nothing left to run.
      queue.async {
        Promise<Void>.after(.seconds(60), clock: simulation.clock).done(on: .immediate) { _ in
          start.fulfill()
        }.ignoreErrors()
      }
      try await started.value
      throw CancellationError()
    }
    #expect(!failure.isRepeatable)
  }

  @Test(arguments: [
    ("0:9", "0:9 chooses a step that does not exist; 2 were ready"),
    ("0:1 70:1", " choices, before 70:1"), ("70:1", " choices, before 70:1"),
  ])
  func orderOfAnotherProgram_isNotRepeatable(order: String, text: String) async throws {
    let failure = try await failure(.replay(order)) { simulation in
      async let first: Void = simulation.clock.sleep(for: .seconds(1))
      async let second: Void = simulation.clock.sleep(for: .seconds(1))
      _ = try await (first, second)
    }
    #expect(failure.description.contains(text))
  }

  @Test func programThatTakesOtherStepsEachTime_isNoFailure() async throws {
    let runs = CallCounter()
    let report = try await explore { simulation in
      // Only the first run has a choice.
      let names = runs.call() == 1 ? ["a", "b"] : ["a"]
      let promises = names.map { Promise.value(1).map(on: simulation.executor($0)) { $0 } }
      _ = try await Promise.all(promises).value
    }
    #expect(!report.isComplete && report.orderCount > 1)
  }

  @Test(
    arguments: ["", "0:0", "1:2 1:3", "later"].map { (.replay($0), "isn't an order") }
      + [.all(limit: 0), .random(seed: 1, count: 0), .random(seed: 1, count: -1)]
      .map { ($0, "must be at least 1") } as [(Orders, String)])
  func textThatIsNoOrder_orNoOrders_isAnError(orders: Orders, text: String) async {
    let error = await #expect(throws: PromiseError.self) {
      try await explore(orders) { _ in Issue.record("There is no order to run in.") }
    }
    #expect(error?.description.contains(text) == true)
  }

  @Test func descriptionOfAFailure_hasTheLastSteps() async throws {
    let error = await #expect(throws: FailingOrderError.self) {
      try await explore(.all(limit: 1), steps: 1_000) { _ in while true { await Task.yield() } }
    }
    let failure = try #require(error)
    #expect(failure.steps.count >= 1_000)
    let lines = failure.description.split(separator: "\n")
    #expect(lines.count < 110)
    #expect(lines.last?.hasSuffix(failure.steps.last ?? "") == true)
  }

  @Test func taskLocals_ofTheCallerAreThere() async throws {
    enum Local { @TaskLocal static var value = 0 }
    try await Local.$value.withValue(5) {
      try await explore { simulation in
        try simulation.expect(Local.value == 5, "The value is \(Local.value).")
      }
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["one", "other"])
  func waitInAStep_throws(_ name: String) async throws {
    let failure = try await #require(throws: FailingOrderError.self) {
      try await explore { simulation in
        let executor = simulation.executor("one")
        let other = name == "one" ? executor : simulation.executor(name)
        _ = try await Promise.value(1).map(on: executor) { _ in
          // A value that has arrived is returned.
          _ = try Promise.value(1).wait()
          return try Promise.value(2).map(on: other) { $0 }.wait()
        }.value
      }
    }
    #expect(failure.error is DeadlockError)
    #expect("\(failure.error)".contains("in a step of an exploration"))
  }

  @Test func cancelledExploration_ends() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await explore(.random(seed: 1, count: 1_000_000)) { _ in }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(.timeLimit(.minutes(10))) func explorationsSideBySide_doNotMix() async throws {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await explore { simulation in
            let jobs = (0..<4).map { number in Task { number } }
            for job in jobs { _ = await job.value }
          }.orderCount
        }
      }
      var counts: Set<Int> = []
      for try await count in group { counts.insert(count) }
      #expect(counts.count == 1)
    }
  }
}
