// The objects that a closure captures, and their `deinit`, can share the closure's isolation. The
// engine releases a handler's closure where the handler runs. A closure that an operator keeps
// outside its handlers, to call it several times or in a task, is stored in an object that releases
// it in its isolation.

/// Stores a closure, and releases it in its isolation.
///
/// `@unchecked Sendable`: immutable until `deinit`. A closure that isn't `Sendable` is called only on
/// the actor that it's kept for.
package final class ClosureKeeper<Closure>: @unchecked Sendable {
  private var erased: ErasedClosure?
  private let isolation: Scheduler?

  fileprivate init(_ closure: Closure, _ isolation: Scheduler) {
    erased = ErasedClosure(closure)
    self.isolation = isolation
  }

  /// Stores a closure of `actor`, which is the current isolation.
  package init(_ closure: Closure, on actor: isolated any Actor) {
    erased = ErasedClosure(closure)
    isolation = scheduler(of: actor)
  }

  deinit { ErasedClosure.release(exchange(&erased, with: nil), in: isolation) }

  package var closure: Closure { erased.unsafelyUnwrapped.copy(as: Closure.self) }
}

extension HandlerTarget {
  /// Returns a closure that calls `closure` and releases it in this target's isolation.
  @usableFromInline
  func keeping<Result>(
    _ closure: @escaping @Sendable () throws -> Result
  ) -> @Sendable () throws -> Result {
    guard let isolation else { return closure }
    let keeper = ClosureKeeper(closure, isolation)
    return { try keeper.closure() }
  }

  /// Returns a closure that calls `closure` and releases it in this target's isolation.
  func keeping<A, Result>(
    _ closure: @escaping @Sendable (A) throws -> Result
  ) -> @Sendable (A) throws -> Result {
    guard let isolation else { return closure }
    let keeper = ClosureKeeper(closure, isolation)
    return { try keeper.closure($0) }
  }

  /// Returns a closure that calls `closure`, which doesn't throw, and releases it in this target's
  /// isolation.
  func keeping<A, Result>(
    nonthrowing closure: @escaping @Sendable (A) -> Result
  ) -> @Sendable (A) -> Result {
    guard let isolation else { return closure }
    let keeper = ClosureKeeper(closure, isolation)
    return { keeper.closure($0) }
  }

  /// The scheduler of the actor or `TurnExecutor` that this target stands for, if any.
  fileprivate var isolation: Scheduler? {
    guard let object, flags & Cell.Input.queueTarget == 0 else { return nil }
    let scheduler = unsafeDowncast(object, to: Scheduler.self)
    return scheduler.isIsolation ? scheduler : nil
  }
}

/// Returns the scheduler of the actor `isolation`, or nil if there is none.
func scheduler(of isolation: (any Actor)?) -> Scheduler? {
  HandlerTarget(isolation: isolation).isolation
}

/// Returns a function that calls `operation` and releases it in `isolation`, which is its own.
func keeping<Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value,
  in isolation: Scheduler?
) -> @Sendable () async throws -> Value {
  let call: @Sendable () async throws -> Value = { try await operation() }
  guard let isolation else { return call }
  let keeper = ClosureKeeper(call, isolation)
  return { try await keeper.closure() }
}

/// Returns a function that calls `operation` and releases it in `isolation`, which is its own.
func keeping<A: Sendable, Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) (A) async throws -> Value,
  in isolation: Scheduler?
) -> @Sendable (A) async throws -> Value {
  let call: @Sendable (A) async throws -> Value = { try await operation($0) }
  guard let isolation else { return call }
  let keeper = ClosureKeeper(call, isolation)
  return { try await keeper.closure($0) }
}

/// Returns a function that calls `operation`, which doesn't throw, and releases it in `isolation`,
/// which is its own.
func keeping<A: Sendable, Value: Sendable>(
  nonthrowing operation: @escaping @Sendable @isolated(any) (A) async -> Value,
  in isolation: Scheduler?
) -> @Sendable (A) async -> Value {
  let call: @Sendable (A) async -> Value = { await operation($0) }
  guard let isolation else { return call }
  let keeper = ClosureKeeper(call, isolation)
  return { await keeper.closure($0) }
}
