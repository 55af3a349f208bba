import Pledge

/// The policies as `async` functions.
func addPolicies(to registry: inout Registry) {
  let policy = RetryPolicy.fixed(attempts: 3)
  registry.addAsync("policy-retry", library: "Pledge") { count in
    await sum(count) { number in try await retry(policy) { try await work(number) } }
  }
  registry.addAsync("policy-limiter", library: "Pledge") { count in
    let limiter = Limiter(8)
    await sum(count) { number in try await limiter.perform { try await work(number) } }
  }
  registry.addAsync("policy-limiter-64", library: "Pledge") { count in
    let limiter = Limiter(8)
    await inTasks(count) { number in
      try await limiter.perform {
        await Task.yield()
        return try await work(number)
      }
    }
  }
  registry.addAsync("policy-coalescer", library: "Pledge") { count in
    let requests = RequestCoalescer<Int, Int>()
    await sum(count) { number in try await requests.value(for: number) { try await work(number) } }
  }
  registry.addAsync("policy-coalescer-64", library: "Pledge") { count in
    let requests = RequestCoalescer<Int, Int>()
    await inTasks(count) { number in
      try await requests.value(for: number) { try await work(number) }
    }
  }
  registry.addAsync("policy-map", library: "Pledge") { count in
    for _ in 0..<count / 1000 {
      let values = try? await concurrentMap(0..<1000, limit: 8) { try await work($0) }
      check(values?.count ?? 0, is: 1000)
    }
  }
  registry.addAsync("policy-stream", library: "Pledge") { count in
    var sum = 0
    do {
      for try await (_, value) in results(of: 0..<count, limit: 8, { try await work($0) }) {
        sum &+= try value.get()
      }
    } catch {}
    check(sum, is: count * (count + 1) / 2)
  }
  registry.addAsync("policy-first", library: "Pledge") { count in
    await sum(count) { number in
      try await firstToFinish({ try await work(number) }, { try await work(number) })
    }
  }
  registry.addAsync("policy-timeout", library: "Pledge") { count in
    await sum(count) { number in try await withTimeout(.seconds(3600)) { try await work(number) } }
  }
}

/// What is written by hand for one case.
func addPoliciesByHand(to registry: inout Registry) {
  let library = "By hand"
  registry.addAsync("policy-retry", library: library, note: "a loop") { count in
    await sum(count) { number in
      var attempts = 0
      while true {
        do { return try await work(number) } catch {
          attempts += 1
          if attempts == 3 { throw error }
          try await Task.sleep(nanoseconds: 1_000_000_000)
        }
      }
    }
  }
  registry.addAsync("policy-limiter", library: library, note: "a semaphore actor") { count in
    let semaphore = SemaphoreActor(8)
    await sum(count) { number in
      await semaphore.wait()
      let value = try await work(number)
      await semaphore.signal()
      return value
    }
  }
  registry.addAsync("policy-limiter-64", library: library, note: "a semaphore actor") { count in
    let semaphore = SemaphoreActor(8)
    await inTasks(count) { number in
      await semaphore.wait()
      await Task.yield()
      let value = try await work(number)
      await semaphore.signal()
      return value
    }
  }
  let tasks = "an actor with tasks"
  registry.addAsync("policy-coalescer", library: library, note: tasks) { count in
    let requests = TaskDictionary()
    await sum(count) { number in try await requests.value(for: number) { try await work(number) } }
  }
  registry.addAsync("policy-coalescer-64", library: library, note: tasks) { count in
    let requests = TaskDictionary()
    await inTasks(count) { number in
      try await requests.value(for: number) { try await work(number) }
    }
  }
  registry.addAsync("policy-map", library: library, note: "a task group") { count in
    for _ in 0..<count / 1000 {
      let values = try? await mapByHand(1000, limit: 8)
      check(values?.count ?? 0, is: 1000)
    }
  }
  let stream = "a task group and an AsyncStream, without a limit on what waits unread"
  registry.addAsync("policy-stream", library: library, note: stream) { count in
    let (values, continuation) = AsyncStream<Int>.makeStream()
    let producer = Task {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          if number >= 8 { await group.next() }
          group.addTask { continuation.yield((try? await work(number)) ?? 0) }
        }
      }
      continuation.finish()
    }
    var sum = 0
    for await value in values { sum &+= value }
    await producer.value
    check(sum, is: count * (count + 1) / 2)
  }
  registry.addAsync("policy-first", library: library, note: "a task group") { count in
    await sum(count) { number in
      try await withThrowingTaskGroup(of: Int.self) { group in
        group.addTask { try await work(number) }
        group.addTask { try await work(number) }
        defer { group.cancelAll() }
        return try await group.next() ?? 0
      }
    }
  }
  registry.addAsync(
    "policy-timeout", library: library, note: "a task group and a sleeping task"
  ) { count in
    await sum(count) { number in
      try await withThrowingTaskGroup(of: Int.self) { group in
        group.addTask { try await work(number) }
        group.addTask {
          try await Task.sleep(nanoseconds: 3_600_000_000_000)
          throw CancellationError()
        }
        defer { group.cancelAll() }
        return try await group.next() ?? 0
      }
    }
  }
}

@inline(never)
private func work(_ number: Int) async throws -> Int { number &+ 1 }

/// Calls `body` for each number, one call after the other.
private func sum(_ count: Int, _ body: (Int) async throws -> Int) async {
  var sum = 0
  for number in 0..<count { sum &+= (try? await body(number)) ?? 0 }
  check(sum, is: count * (count + 1) / 2)
}

/// Calls `body` for each number, in 64 tasks.
private func inTasks(
  _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Int
) async {
  let sum = await withTaskGroup(of: Int.self) { group in
    for task in 0..<64 {
      group.addTask {
        var sum = 0
        for number in stride(from: task, to: count, by: 64) {
          sum &+= (try? await body(number)) ?? 0
        }
        return sum
      }
    }
    return await group.reduce(0, &+)
  }
  check(sum, is: count * (count + 1) / 2)
}

private func mapByHand(_ count: Int, limit: Int) async throws -> [Int] {
  try await withThrowingTaskGroup(of: (Int, Int).self) { group in
    var values = [Int](repeating: 0, count: count)
    var next = 0
    while next < limit {
      group.addTask { [next] in (next, try await work(next)) }
      next += 1
    }
    while let (index, value) = try await group.next() {
      values[index] = value
      guard next < count else { continue }
      group.addTask { [next] in (next, try await work(next)) }
      next += 1
    }
    return values
  }
}

actor SemaphoreActor {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var first = 0

  init(_ count: Int) { free = count }

  func wait() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func signal() {
    guard first < waiting.count else {
      free += 1
      return
    }
    waiting[first].resume()
    first += 1
    if first == 64 {
      waiting.removeFirst(first)
      first = 0
    }
  }
}

actor TaskDictionary {
  private var tasks: [Int: Task<Int, any Error>] = [:]

  func value(
    for key: Int, _ operation: @escaping @Sendable () async throws -> Int
  ) async throws -> Int {
    if let task = tasks[key] { return try await task.value }
    let task = Task { try await operation() }
    tasks[key] = task
    defer { tasks[key] = nil }
    return try await task.value
  }
}
