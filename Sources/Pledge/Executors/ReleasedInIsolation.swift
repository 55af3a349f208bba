// What a closure captured may be isolated as the closure is, and so may be its `deinit`. A handler's
// closure goes where the handler goes. A closure that an operator keeps in addition to its handlers, to
// call it several times or in a task, is kept in an object that releases it in its isolation.

/// Keeps a closure, and releases it in its isolation.
///
/// `@unchecked Sendable`: `closure` is immutable up to `deinit`, and `Sendable` itself.
private final class ClosureKeeper<Closure>: @unchecked Sendable {
  private var erased: ErasedClosure?
  private let isolation: Scheduler

  init(_ closure: Closure, _ isolation: Scheduler) {
    erased = ErasedClosure(closure)
    self.isolation = isolation
  }

  deinit { ErasedClosure.release(exchange(&erased, with: nil), in: isolation) }

  var closure: Closure { erased.unsafelyUnwrapped.copy(as: Closure.self) }
}

extension HandlerTarget {
  /// Returns a closure that calls `closure`, and releases it in the isolation that this stands for.
  func keeping<Result>(
    _ closure: @escaping @Sendable () throws -> Result
  ) -> @Sendable () throws -> Result {
    guard let isolation else { return closure }
    let keeper = ClosureKeeper(closure, isolation)
    return { try keeper.closure() }
  }

  /// Returns a closure that calls `closure`, and releases it in the isolation that this stands for.
  func keeping<A, Result>(
    _ closure: @escaping @Sendable (A) throws -> Result
  ) -> @Sendable (A) throws -> Result {
    guard let isolation else { return closure }
    let keeper = ClosureKeeper(closure, isolation)
    return { try keeper.closure($0) }
  }

  /// Returns a closure that calls `closure`, which does not throw, and releases it in the isolation that
  /// this stands for.
  func keeping<A, Result>(
    nonthrowing closure: @escaping @Sendable (A) -> Result
  ) -> @Sendable (A) -> Result {
    guard let isolation else { return closure }
    let keeper = ClosureKeeper(closure, isolation)
    return { keeper.closure($0) }
  }

  /// The scheduler of the actor that this stands for, if it does.
  fileprivate var isolation: Scheduler? {
    guard let object, flags & Cell.Input.queueTarget == 0 else { return nil }
    let scheduler = unsafeDowncast(object, to: Scheduler.self)
    return scheduler.isIsolation ? scheduler : nil
  }
}

/// The scheduler of the actor `isolation`; nil for none.
func scheduler(of isolation: (any Actor)?) -> Scheduler? {
  HandlerTarget(isolation: isolation).isolation
}

/// Returns a function that calls `operation`, and releases it in `isolation`, its own.
func keeping<Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) () async throws -> Value,
  in isolation: Scheduler?
) -> @Sendable () async throws -> Value {
  let call: @Sendable () async throws -> Value = { try await operation() }
  guard let isolation else { return call }
  let keeper = ClosureKeeper(call, isolation)
  return { try await keeper.closure() }
}

/// Returns a function that calls `operation`, and releases it in `isolation`, its own.
func keeping<A: Sendable, Value: Sendable>(
  _ operation: @escaping @Sendable @isolated(any) (A) async throws -> Value,
  in isolation: Scheduler?
) -> @Sendable (A) async throws -> Value {
  let call: @Sendable (A) async throws -> Value = { try await operation($0) }
  guard let isolation else { return call }
  let keeper = ClosureKeeper(call, isolation)
  return { try await keeper.closure($0) }
}

/// Returns a function that calls `operation`, which does not throw, and releases it in `isolation`, its own.
func keeping<A: Sendable, Value: Sendable>(
  nonthrowing operation: @escaping @Sendable @isolated(any) (A) async -> Value,
  in isolation: Scheduler?
) -> @Sendable (A) async -> Value {
  let call: @Sendable (A) async -> Value = { await operation($0) }
  guard let isolation else { return call }
  let keeper = ClosureKeeper(call, isolation)
  return { await keeper.closure($0) }
}
