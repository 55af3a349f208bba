// Operators run an asynchronous closure in a task each time that they call it. Their promises know its
// isolation, so that `wait()` recognizes a deadlock: the closure can't run where the wait blocks.

/// Returns a function that runs `operation` in a new task, in its isolation, where it is also released.
func startingTasks<Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) -> @Sendable () -> Promise<Value> {
  let target = operation.isolation.map { HandlerTarget(isolation: $0) }
  let operation = keeping(operation)
  return { Promise { try await operation() }.produced(in: target) }
}

/// Returns a function that runs `operation` in a new task, in its isolation, where it is also released.
func startingTasks<A: Sendable, Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) (A) async throws -> Value
) -> @Sendable (A) -> Promise<Value> {
  let target = operation.isolation.map { HandlerTarget(isolation: $0) }
  let operation = keeping(operation)
  return { input in Promise { try await operation(input) }.produced(in: target) }
}

/// Returns a function that runs `operation`, which doesn't throw, in a new task, in its isolation, where
/// it is also released.
func startingTasks<A: Sendable, Value: Sendable>(
  nonthrowing operation: @escaping @Sendable @isolated(any) (A) async -> Value
) -> @Sendable (A) -> Guarantee<Value> {
  let target = operation.isolation.map { HandlerTarget(isolation: $0) }
  let operation = keeping(nonthrowing: operation)
  return { input in
    let guarantee = Guarantee { await operation(input) }
    return Guarantee(cell: guarantee.base.produced(in: target).cell)
  }
}

extension Promise {
  /// Notes that a task in the isolation of `target`, if there is one, settles this promise.
  fileprivate func produced(in target: HandlerTarget?) -> Promise {
    if let target { cell.noteProducer(target.object) }
    return self
  }
}
