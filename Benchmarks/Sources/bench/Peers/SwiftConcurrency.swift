/// The features of the language: tasks, groups, continuations, and plain `async` calls.
///
/// A task takes the place of a promise, and awaiting another task that of `then`.
func addSwiftConcurrency(to registry: inout Registry) {
  let library = "Swift Concurrency"

  registry.addThens(library: library, note: "a task each") { count, semaphore in
    var task = resolved
    for _ in 1..<count { task = Task.detached { [task] in await task.value } }
    Task.detached { [task] in
      if await task.value { semaphore.signal() }
    }
  }
  registry.addConcurrent(library: library, note: "a task each") { latch in
    Task.detached {
      if await resolved.value { latch.countDown() }
    }
  }
  registry.addQueueChains(library: library, note: "tasks on one actor") { end in
    let root = PendingTask()
    var task = root.task
    for _ in 0..<chainLength { task = Task { @SerialActor [task] in await task.value &+ 1 } }
    Task.detached { [task] in end(await task.value) }
    root.settle(1)
  }
  registry.addAsync("resolved-map", library: library, note: "async let") { count in
    let one = Slot(1)
    var sum = 0
    for _ in 0..<count {
      async let value = read(one)
      sum &+= await value &+ 1
    }
    check(sum, is: 2 * count)
  }
  registry.addAsync("fan-in", library: library, note: "task group") { count in
    let sum = await withTaskGroup(of: (Int, Int).self) { group in
      for index in 0..<count { group.addTask { (index, index) } }
      var values = Array(repeating: 0, count: count)
      for await (index, value) in group { values[index] = value }
      return values.reduce(0, &+)
    }
    check(sum, is: count * (count - 1) / 2)
  }
  registry.add("fan-out", library: library, note: "tasks await one task") { count in
    let latch = Latch(count)
    let source = PendingTask()
    for _ in 0..<count {
      Task.detached {
        check(await source.task.value, is: 1)
        latch.countDown()
      }
    }
    source.settle(1)
    latch.wait()
  }
  addDepth(to: &registry, library)
  addAwaiting(to: &registry, library)
}

private let resolved = Task.detached { true }

private func addDepth(to registry: inout Registry, _ library: String) {
  registry.addAsync("recursive-loop", library: library, note: "a recursive async call") { rounds in
    check(await recurse(0, rounds, Slot(1)), is: rounds)
  }
  registry.addAsync("deep-chain", library: library, note: "tasks await tasks") { links in
    let root = PendingTask()
    var task = root.task
    for _ in 0..<links { task = Task.detached { [task] in await task.value &+ 1 } }
    root.settle(1)
    check(await task.value, is: links + 1)
  }
}

private func addAwaiting(to registry: inout Registry, _ library: String) {
  registry.addAsync("await-value", library: "async call", note: "a plain call") { count in
    let one = Slot(1)
    var sum = 0
    for _ in 0..<count { sum &+= await read(one) }
    check(sum, is: count)
  }
  registry.addAsync("await-value", library: library, note: "Task.value") { count in
    let task = Task.detached { 1 }
    var sum = 0
    for _ in 0..<count { sum &+= await task.value }
    check(sum, is: count)
  }
  registry.addAsync("cancel", library: library, note: "a task with a handler") { count in
    for _ in 0..<count {
      let source = PendingTask()
      let mapped = Task.detached {
        await withTaskCancellationHandler {
          await source.task.value &+ 1
        } onCancel: {
          source.settle(-1)
        }
      }
      mapped.cancel()
      check(await mapped.value, is: 0)
    }
  }
  registry.addAsync("timer", library: library, note: "a sleeping task each") { count in
    let sleepers = (0..<count).map { _ in
      Task.detached { try await Task.sleep(for: .seconds(3600)) }
    }
    for sleeper in sleepers { sleeper.cancel() }
    for sleeper in sleepers { _ = await sleeper.result }
  }
}

@globalActor
private actor SerialActor { static let shared = SerialActor() }

/// A task that ends on request, like a pending promise.
private struct PendingTask: Sendable {
  private let continuation: AsyncStream<Int>.Continuation
  let task: Task<Int, Never>

  init() {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    self.continuation = continuation
    task = Task.detached {
      for await value in stream { return value }
      return 0
    }
  }

  func settle(_ value: Int) {
    continuation.yield(value)
    continuation.finish()
  }
}

/// An `async` function that neither suspends nor can be constant-folded.
@inline(never)
private func read(_ slot: Slot<Int>) async -> Int { slot.value }

private func recurse(_ round: Int, _ rounds: Int, _ one: Slot<Int>) async -> Int {
  if round == rounds { return round }
  let next = await read(one) &+ round
  return await recurse(next, rounds, one)
}
