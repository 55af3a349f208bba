// Operators run an asynchronous closure in a new task each time that they call it. Their promises
// record its isolation, so that `wait()` detects a deadlock: the closure can't run on an actor that
// the wait blocks.

/// Returns a function that runs `operation` in a new task, in its isolation.
///
/// `operation` is also released in its isolation.
func startingTasks<Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) -> @Sendable () -> Promise<Value> {
  let isolation = isolatedTarget(operation.isolation)
  let operation = keeping(operation, in: isolation)
  return { Promise { try await operation() }.produced(in: isolation) }
}

/// Returns a function that runs `operation` in a new task, in its isolation.
///
/// `operation` is also released in its isolation.
func startingTasks<A: Sendable, Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) (A) async throws -> Value
) -> @Sendable (A) -> Promise<Value> {
  let isolation = isolatedTarget(operation.isolation)
  let operation = keeping(operation, in: isolation)
  return { input in Promise { try await operation(input) }.produced(in: isolation) }
}

/// Returns a function that runs `operation`, which doesn't throw, in a new task, in its isolation.
///
/// `operation` is also released in its isolation.
func startingTasks<A: Sendable, Value: Sendable>(
  nonthrowing operation: @escaping @Sendable @isolated(any) (A) async -> Value
) -> @Sendable (A) -> Guarantee<Value> {
  let isolation = isolatedTarget(operation.isolation)
  let operation = keeping(nonthrowing: operation, in: isolation)
  return { input in
    let guarantee = Guarantee { await operation(input) }
    return Guarantee(cell: guarantee.base.produced(in: isolation).cell)
  }
}

extension Promise {
  /// Records that a task in `isolation`, if that isn't nil, settles this promise.
  func produced(in isolation: HandlerTarget?) -> Promise {
    if let isolation { cell.noteProducer(.closure(isolation)) }
    return self
  }
}

/// Returns the target of closures with this isolation, or nil if there is none.
func isolatedTarget(_ isolation: (any Actor)?) -> HandlerTarget? {
  isolation.map { HandlerTarget(isolation: $0) }
}

/// Returns a function that calls `operation` and releases it in `isolation`, which is its own.
func keeping<Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value,
  in isolation: HandlerTarget?
) -> @Sendable () async throws -> Value {
  let call: @Sendable () async throws -> Value = { try await operation() }
  guard let isolation else { return call }
  let keeper = Placed(call, at: isolation).keeper()
  return { try await keeper.closure() }
}

/// Returns a function that calls `operation` and releases it in `isolation`, which is its own.
func keeping<A: Sendable, Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) (A) async throws -> Value,
  in isolation: HandlerTarget?
) -> @Sendable (A) async throws -> Value {
  let call: @Sendable (A) async throws -> Value = { try await operation($0) }
  guard let isolation else { return call }
  let keeper = Placed(call, at: isolation).keeper()
  return { try await keeper.closure($0) }
}

/// Returns a function that calls `operation`, which doesn't throw, and releases it in `isolation`,
/// which is its own.
func keeping<A: Sendable, Value: Sendable>(
  nonthrowing operation: @escaping @Sendable @isolated(any) (A) async -> Value,
  in isolation: HandlerTarget?
) -> @Sendable (A) async -> Value {
  let call: @Sendable (A) async -> Value = { await operation($0) }
  guard let isolation else { return call }
  let keeper = Placed(call, at: isolation).keeper()
  return { await keeper.closure($0) }
}
