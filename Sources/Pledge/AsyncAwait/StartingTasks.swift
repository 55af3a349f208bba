// Operators run an asynchronous closure in a new task each time that they call it. Their promises
// record its isolation, so that `wait()` detects a deadlock: the closure can't run on an actor that
// the wait blocks.

/// Returns a function that runs `operation` in a new task, in its isolation.
///
/// `operation` is also released in its isolation.
func startingTasks<Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) -> @Sendable () -> Promise<Value> {
  let isolation = scheduler(of: operation.isolation)
  let operation = keeping(operation, in: isolation)
  return { Promise { try await operation() }.produced(in: isolation) }
}

/// Returns a function that runs `operation` in a new task, in its isolation.
///
/// `operation` is also released in its isolation.
func startingTasks<A: Sendable, Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) (A) async throws -> Value
) -> @Sendable (A) -> Promise<Value> {
  let isolation = scheduler(of: operation.isolation)
  let operation = keeping(operation, in: isolation)
  return { input in Promise { try await operation(input) }.produced(in: isolation) }
}

/// Returns a function that runs `operation`, which doesn't throw, in a new task, in its isolation.
///
/// `operation` is also released in its isolation.
func startingTasks<A: Sendable, Value: Sendable>(
  nonthrowing operation: @escaping @Sendable @isolated(any) (A) async -> Value
) -> @Sendable (A) -> Guarantee<Value> {
  let isolation = scheduler(of: operation.isolation)
  let operation = keeping(nonthrowing: operation, in: isolation)
  return { input in
    let guarantee = Guarantee { await operation(input) }
    return Guarantee(cell: guarantee.base.produced(in: isolation).cell)
  }
}

extension Promise {
  /// Records that a task in `isolation`, if that isn't nil, settles this promise.
  func produced(in isolation: Scheduler?) -> Promise {
    if let isolation { cell.noteProducer(isolation) }
    return self
  }
}
