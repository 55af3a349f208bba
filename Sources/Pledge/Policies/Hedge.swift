extension Promise {
  /// Starts `operation`, and starts it again each time `delay` passes without a value, until one of
  /// at most `attempts` attempts has a value.
  ///
  /// Hedged requests reduce the latency of a service's slowest responses: the second request can
  /// overtake a first one that is stuck. The first value wins, and the other attempts are
  /// cancelled. When an attempt fails, other than by cancellation, the next one starts immediately.
  /// If all attempts fail, the returned promise is rejected with an ``AggregateError`` of their
  /// errors; if `attempts` is less than one, with ``PromiseError/invalidArgument(_:)``. Cancelling
  /// it cancels all attempts. Only hedge operations that may run more than once.
  ///
  /// When all requests are slow, hedges don't help and only add load. To prevent that, share a
  /// `budget` among the requests to a service: each attempt after the first takes one of its
  /// tokens, and each value adds a fraction of one. When the budget is used up, no further attempts
  /// start, and the attempts in progress determine the result.
  ///
  /// ```swift
  /// let hedges = RetryBudget(capacity: 10, tokensPerSuccess: 0.05)  // at most 5 % more requests
  /// let page = Promise.hedged(delay: .milliseconds(50), budget: hedges) { download(url) }
  /// ```
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func hedged(
    attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    hedge(
      attempts, TimeSpan(delay), budget, TimeSource(clock),
      HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise).self))
  }

  /// Starts `operation`, and starts it again each time `delay` passes without a value, until one of
  /// at most `attempts` guarantees is fulfilled.
  ///
  /// See ``hedged(attempts:delay:budget:clock:_:)``.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    @_inheritActorContext _ operation:
      @escaping @Sendable @isolated(any) () throws -> Guarantee<Value>
  ) -> Promise {
    let body = Isolated(operation).assumingIsolated(
      as: (@Sendable () throws -> Guarantee<Value>).self)
    return hedge(
      attempts, TimeSpan(delay), budget, TimeSource(clock),
      HandlerTarget(isolation: operation.isolation)
    ) { try body().source }
  }

  /// Starts `operation` on `executor`, and starts it again each time `delay` passes without a
  /// value, until one of at most `attempts` attempts has a value.
  ///
  /// See ``hedged(attempts:delay:budget:clock:_:)``.
  ///
  /// **Execution.** `operation` runs on `executor`. An operation that only starts a request can use
  /// `.immediate`; the first attempt then starts inside this call.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    on executor: some PromiseExecutor, attempts: Int = 2, delay: Duration,
    budget: RetryBudget? = nil, clock: any Clock<Duration> = ContinuousClock(),
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    hedge(attempts, TimeSpan(delay), budget, TimeSource(clock), HandlerTarget(executor), operation)
  }

  /// Starts `operation` on the main actor, and starts it again each time `delay` passes without a
  /// value, until one of at most `attempts` attempts has a value.
  ///
  /// See ``hedged(attempts:delay:budget:clock:_:)``.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func hedged(
    on executor: MainExecutor, attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    _ operation: @escaping @MainActor @Sendable () throws -> Promise
  ) -> Promise {
    hedged(attempts: attempts, delay: delay, budget: budget, clock: clock, operation)
  }

  /// Starts an asynchronous `operation`, and starts it again each time `delay` passes without a
  /// value, until one of at most `attempts` attempts has a value.
  ///
  /// See ``hedged(attempts:delay:budget:clock:_:)``.
  ///
  /// **Execution.** Each attempt runs in its own task, in the isolation in which `operation` was
  /// written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    hedge(
      attempts, TimeSpan(delay), budget, TimeSource(clock), HandlerTarget(immediate: ()),
      startingInheritingTasks(operation))
  }

  static func hedge(
    _ attempts: Int, _ delay: TimeSpan, _ budget: RetryBudget?, _ time: TimeSource,
    _ target: HandlerTarget, _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    guard attempts >= 1 else {
      return .rejected(
        PromiseError.invalidArgument("hedged needs at least one attempt, not \(attempts)."))
    }
    let run = HedgeRun(
      attempts: attempts, delay: delay, time: time, target: target,
      operation: target.keeping(operation), budget: budget)
    return run.attempt(1).depositing(in: budget)
      .recoveredWithPromise(HandlerTarget(immediate: ()), when: { $0 is AggregateError }) { _ in
        throw AggregateError(errors: run.errors)
      }
  }
}

/// The attempts of one call of `hedged`, which start one after the other.
private final class HedgeRun<Value: Sendable>: Sendable {
  private let attempts: Int
  private let delay: TimeSpan
  private let time: TimeSource
  private let target: HandlerTarget
  private let operation: @Sendable () throws -> Promise<Value>
  private let budget: RetryBudget?
  private let failures = Mutex<[Int: any Error]>([:])

  init(
    attempts: Int, delay: TimeSpan, time: TimeSource, target: HandlerTarget,
    operation: @escaping @Sendable () throws -> Promise<Value>, budget: RetryBudget?
  ) {
    self.attempts = attempts
    self.delay = delay
    self.time = time
    self.target = target
    self.operation = operation
    self.budget = budget
  }

  /// The errors of the attempts, in the order in which the attempts started.
  var errors: [any Error] {
    failures.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// Starts this attempt and, later, the following ones; returns a promise for the first value.
  func attempt(_ number: Int) -> Promise<Value> {
    let immediate = HandlerTarget(immediate: ())
    // Stays pending if the attempt is abandoned: the next one then starts after the delay.
    let (failure, resolver) = Promise<Void>.withUnmanagedResolver()
    // Part of the chain: a separate observer would prevent the attempt from being cancelled.
    let work = Promise<Void>.value(()).chained(target, operation).tapped(immediate) { result in
      // A cancelled attempt doesn't start the next one: usually, all of them are being cancelled.
      guard case .failure(let error) = result else { return resolver.abandon() }
      self.failures.withLock { $0[number] = error }
      if error is CancellationError { resolver.abandon() } else { resolver.fulfill(()) }
    }
    if number == attempts { return .any([work]) }
    let later = Promise<Void>.race([failure, .after(delay, time)])
      .chained(time.target) {
        guard self.budget?.withdraw() ?? true else { throw NoTokenLeft() }
        Monitoring.policies.note(.hedged)
        return self.attempt(number + 1)
      }
    return .any([work, later])
  }
}

/// The reason why no further attempt starts, which isn't among the errors of the attempts.
private struct NoTokenLeft: Error {}

/// Calls `operation`, and calls it again each time `delay` passes without a value, until one of at
/// most `attempts` calls has returned a value.
///
/// See `Promise.hedged(attempts:delay:budget:clock:_:)`.
///
/// **Execution.** Each call runs in its own task, in the isolation in which `operation` was
/// written.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func hedged<Value: Sendable>(
  attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
  clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise.hedged(
    attempts: attempts, delay: delay, budget: budget, clock: clock, operation
  ).value
}
