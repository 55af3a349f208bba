/// Programs whose results depend on when virtual time passes, with the default executors, actors,
/// queues, and tasks.
///
/// `PLEDGE_FULL=1` runs each of them 1,000 times.
@Suite struct VirtualTime {
  // In a process of its own, because handlers of other tests on the main actor can share a turn.
  @Test func programs_haveTheSameResultsEachTime() async {
    await #expect(processExitsWith: .success) {
      let isFull = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1"
      let rounds = isFull ? 1_000 : 5
      for (name, program) in programs.sorted(by: { $0.key < $1.key }) {
        var wrong: [String: Int] = [:]
        for _ in 0..<rounds {
          // A task of its own, because a task belongs to each clock that it has used.
          let found = await Task { await program.run(TestClock()) }.value
          if found != program.expected { wrong[found, default: 0] += 1 }
        }
        #expect(wrong.isEmpty, "\(name): expected \(program.expected) \(rounds) times")
      }
    }
  }
}

private struct Program: Sendable {
  let expected: String
  let run: @Sendable (TestClock) async -> String
}

private func seconds(_ clock: TestClock) -> Int { Int(clock.now.offset / .seconds(1)) }

/// Returns the result of a promise that must have settled.
private func text(_ promise: Promise<some Sendable>) async -> String {
  if promise.isPending { return "pending" }
  switch await promise.result {
  case .success(let value): return "\(value)"
  case .failure(let error): return "\(type(of: error))"
  }
}

private actor Counter {
  private(set) var count = 0
  func raise() -> Int {
    count += 1
    return count
  }
  func raiseAndYield() async {
    count += 1
    await Task.yield()
  }
}

private let policy = RetryPolicy.exponential(attempts: 5, from: .seconds(1))

private let programs: [String: Program] = [
  "retry of tasks": Program(expected: "[0, 1, 3, 7, 15] Boom") { clock in
    let times = Recorder<Int>()
    let promise = Promise.retry(policy, clock: clock) { () async throws -> Int in
      times.record(seconds(clock))
      await Task.yield()
      throw Boom()
    }
    await clock.advance(by: .seconds(100))
    return "\(times.events) \(await text(promise))"
  },
  "retry of attempts that time out": Program(expected: "[0, 2, 5, 10, 19] TimeoutError") { clock in
    let times = Recorder<Int>()
    let promise = Promise.retry(policy, clock: clock) {
      Promise.value(1).get { _ in times.record(seconds(clock)) }
        .delay(.seconds(2), clock: clock).timeout(after: .seconds(1), clock: clock)
    }
    await clock.advance(by: .seconds(100))
    return "\(times.events) \(await text(promise))"
  },
  "debounce": Program(expected: "[\"abc at 3\"]") { clock in
    let (searches, queue) = (Recorder<String>(), DispatchQueue(label: "keys"))
    let last = Recorder<Promise<Void>>()
    for (time, text) in [(0, "a"), (1, "ab"), (2, "abc")] {
      Promise.after(.seconds(time), clock: clock).done(on: queue) {
        last.events.last?.cancel()
        last.record(
          Promise.after(.seconds(1) + .milliseconds(500), clock: clock)
            .done { searches.record("\(text) at \(seconds(clock))") })
      }.ignoreErrors()
    }
    await clock.advance(by: .seconds(100))
    return "\(searches.events)"
  },
  "actor": Program(expected: "3 at 2") { clock in
    let counter = Counter()
    let promise = Promise { await counter.raise() }
      .delay(.seconds(1), clock: clock)
      .then { _ in Promise { await counter.raise() } }
      .delay(.seconds(1), clock: clock)
      .asyncMap { _ in await counter.raise() }
      .map { "\($0) at \(seconds(clock))" }
      .timeout(after: .seconds(3), clock: clock)
    await clock.advance(by: .seconds(100))
    return await text(promise)
  },
  "queues": Program(expected: "[1, 2, 3]") { clock in
    let (times, first) = (Recorder<Int>(), DispatchQueue(label: "first"))
    let second = DispatchQueue(label: "second", attributes: .concurrent)
    let promise = Promise.after(.seconds(1), clock: clock)
      .done(on: first) { times.record(seconds(clock)) }
      .delay(.seconds(1), clock: clock)
      .done(on: second) { times.record(seconds(clock)) }
      .delay(.seconds(1), clock: clock)
      .done { times.record(seconds(clock)) }
    await clock.advance(by: .seconds(100))
    return promise.isPending ? "pending" : "\(times.events)"
  },
  "detached tasks": Program(expected: "2") { clock in
    let promise = Promise.after(.seconds(1), clock: clock).then {
      Promise<Int> { resolver in
        Task.detached {
          await Task.yield()
          Task.detached { resolver.fulfill(2) }
        }
      }
    }.delay(.seconds(1), clock: clock).timeout(after: .seconds(10), clock: clock)
    await clock.advance(by: .seconds(100))
    return await text(promise)
  },
  "yields after calls of an actor": Program(expected: "[1, 2, 3, 4, 5]") { clock in
    actor Place { func visit() {} }
    let (place, times) = (Place(), Recorder<Int>())
    Task.detached {
      for _ in 0..<5 {
        try await clock.sleep(for: .seconds(1))
        await place.visit()
        await Task.yield()
        times.record(seconds(clock))
      }
    }
    await clock.sleepers(atLeast: 1)
    await clock.run()
    return "\(times.events)"
  },
  "yields in an actor": Program(expected: "[1, 2, 3]") { clock in
    let (counter, times) = (Counter(), Recorder<Int>())
    Task {
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<10 { await counter.raiseAndYield() }
        await Task.yield()
        times.record(seconds(clock))
      }
    }
    await clock.advance(by: .seconds(10))
    return "\(times.events)"
  },
  "an actor that many tasks use": Program(expected: "200 at 1") { clock in
    let counter = Counter()
    let promise = Promise {
      try await clock.sleep(for: .seconds(1))
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask { for _ in 0..<10 { await counter.raiseAndYield() } }
        }
      }
      return "\(await counter.count) at \(seconds(clock))"
    }
    await clock.advance(by: .seconds(10))
    return await text(promise)
  },
  "an immediate task": Program(expected: "[0, 1]") { clock in
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return "[0, 1]" }
    let (counter, times) = (Counter(), Recorder<Int>())
    Task.immediate {
      await Task.yield()
      await counter.raiseAndYield()
      times.record(seconds(clock))
      try await clock.sleep(for: .seconds(1))
      await Task.yield()
      times.record(seconds(clock))
    }
    await clock.advance(by: .seconds(10))
    return "\(times.events)"
  },
  "tasks of the main actor": Program(expected: "[1, 2, 3]") { clock in
    let times = Recorder<Int>()
    Task { @MainActor in
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<5 {
          await Task { @MainActor in await Task.yield() }.value
          await Task.yield()
        }
        MainActor.assertIsolated()
        times.record(seconds(clock))
      }
    }
    await clock.advance(by: .seconds(10))
    return "\(times.events)"
  },
  "priorities": Program(expected: "[1, 2, 3, 4]") { clock in
    let (counter, times) = (Counter(), Recorder<Int>())
    for (index, priority) in [TaskPriority.background, .low, .medium, .high].enumerated() {
      Task.detached(priority: priority) {
        await Task.yield()
        try await clock.sleep(until: .init(offset: .seconds(index + 1)))
        await counter.raiseAndYield()
        times.record(seconds(clock))
      }
    }
    await clock.advance(by: .seconds(10))
    return "\(times.events)"
  },
  "a cancelled sleeper": Program(expected: "[1]") { clock in
    let (counter, times) = (Counter(), Recorder<Int>())
    let task = Task {
      try? await clock.sleep(for: .seconds(60))
      await counter.raiseAndYield()
      times.record(seconds(clock))
    }
    Task {
      try await clock.sleep(for: .seconds(1))
      task.cancel()
    }
    await clock.advance(by: .seconds(100))
    return "\(times.events)"
  },
  "await in a task": Program(expected: "6") { clock in
    let task = Promise {
      var sum = 0
      for number in 1...3 {
        sum += try await Promise.value(number).map { $0 }.delay(.seconds(1), clock: clock)
          .timeout(after: .seconds(2), clock: clock).value
      }
      return sum
    }
    await clock.advance(by: .seconds(100))
    return await text(task)
  },
  "main actor": Program(expected: "[1, 2]") { clock in
    let times = Recorder<Int>()
    let promise = Promise.after(.seconds(1), clock: clock)
      .done { @MainActor in times.record(seconds(clock)) }
      .then { Promise { @MainActor in await Task.yield() } }
      .delay(.seconds(1), clock: clock)
      .done { @MainActor in times.record(seconds(clock)) }
    await clock.advance(by: .seconds(100))
    return promise.isPending ? "pending" : "\(times.events)"
  },
  "hops in time": Program(expected: "100") { clock in
    var promise = Promise.value(0)
    for _ in 0..<100 { promise = promise.map { $0 + 1 } }
    let limited = promise.timeout(after: .milliseconds(1), clock: clock)
    await clock.advance(by: .seconds(100))
    return await text(limited)
  },
  "structured timeout": Program(expected: "done") { clock in
    let counter = Counter()
    let promise = Promise {
      try await withTimeout(.seconds(10), clock: clock) {
        for _ in 0..<5 {
          _ = await counter.raise()
          try await clock.sleep(for: .seconds(1))
        }
        return "done"
      }
    }
    await clock.advance(by: .seconds(100))
    return await text(promise)
  },
  "stream": Program(expected: "[1, 2, 3]") { clock in
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    Task {
      for _ in 1...3 {
        try await clock.sleep(for: .seconds(1))
        continuation.yield(seconds(clock))
      }
      continuation.finish()
    }
    let promise = Promise { await stream.reduce(into: [Int]()) { $0.append($1) } }
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(100))
    return await text(promise)
  },
  "a task with a second clock": Program(expected: "10") { clock in
    let (other, counter) = (TestClock(), Counter())
    return await ticks(clock) {
      _ = other.now
      for _ in 0..<20 { _ = await counter.raise() }
    }
  },
  "a task that sleeps on two clocks in turn": Program(expected: "5") { clock in
    let (other, counter) = (TestClock(), Counter())
    let ticks = CallCounter()
    let task = Task {
      while true {
        try await clock.sleep(for: .seconds(1))
        for _ in 0..<5 { _ = await counter.raise() }
        try await other.sleep(for: .seconds(1))
        for _ in 0..<5 { _ = await counter.raise() }
        ticks.call()
      }
    }
    for _ in 0..<5 {
      await clock.advance(by: .seconds(1))
      await other.advance(by: .seconds(1))
    }
    task.cancel()
    return "\(ticks.count)"
  },
  "a limiter with a clock of its own": Program(expected: "10") { clock in
    let limiter = Limiter(1, rate: .init(1_000, per: .seconds(1)), clock: TestClock())
    let counter = Counter()
    return await ticks(clock) {
      try await limiter.perform { for _ in 0..<10 { _ = await counter.raise() } }
    }
  },
]

/// Returns how often a task has slept for a second, and then done some work, in ten seconds.
private func ticks(
  _ clock: TestClock, _ work: @escaping @Sendable () async throws -> Void
) async -> String {
  let ticks = CallCounter()
  let task = Task {
    while true {
      try await clock.sleep(for: .seconds(1))
      try await work()
      ticks.call()
    }
  }
  await clock.advance(by: .seconds(10))
  task.cancel()
  return "\(ticks.count)"
}
