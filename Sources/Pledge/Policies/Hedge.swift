extension Promise {
  /// Starts `operation`, and starts it again each time `delay` passes without a value, until one of
  /// at most `attempts` attempts has a value.
  ///
  /// Hedged requests reduce the latency of a service's slowest responses: the second request can
  /// overtake a first one that is stuck. The first value wins, and the other attempts are
  /// cancelled. When an attempt fails, other than by cancellation, the next one starts immediately.
  /// If all attempts fail, the returned promise is rejected with the error of the first one; each
  /// failed attempt is passed to `observer`. If `attempts` is less than one, the promise is rejected
  /// with ``PromiseError/invalidArgument(_:)``. Cancelling it cancels all attempts. Only hedge
  /// operations that may run more than once.
  ///
  /// When all requests are slow, hedges don't help and only add load. To prevent that, share a
  /// `budget` among the requests to a service: each attempt after the first takes one of its
  /// tokens, and a value adds a fraction of one only if it arrives before a `delay` has passed
  /// without a value. An attempt that follows one that a circuit breaker or a full limiter rejected
  /// takes none. When the budget is used up, no further attempts start, and the attempts in progress
  /// determine the result.
  ///
  /// ```swift
  /// let hedges = RetryBudget(capacity: 10, tokensPerSuccess: 0.05)  // at most 5 % more requests
  /// let page = Promise.hedged(delay: .milliseconds(50), budget: hedges) { download(url) }
  /// ```
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written; `observer` runs in
  /// place, as a handler on `.immediate`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func hedged(
    attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    hedge(
      Hedging(attempts: attempts, delay: TimeSpan(delay), budget: budget, observer: observer),
      TimeSource(clock),
      Placed(operation))
  }

  /// The same as ``hedged(attempts:delay:budget:clock:observer:_:)``, for an operation that returns a
  /// guarantee.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    @_inheritActorContext _ operation:
      @escaping @Sendable @isolated(any) () throws -> Guarantee<Value>
  ) -> Promise {
    hedge(
      Hedging(attempts: attempts, delay: TimeSpan(delay), budget: budget, observer: observer),
      TimeSource(clock),
      Placed(operation).map { operation in { try operation().source } })
  }

  /// The same as ``hedged(attempts:delay:budget:clock:observer:_:)``, on `executor`.
  ///
  /// **Execution.** `operation` runs on `executor`. An operation that only starts a request can use
  /// `.immediate`; the first attempt then starts inside this call.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    on executor: some PromiseExecutor, attempts: Int = 2, delay: Duration,
    budget: RetryBudget? = nil, clock: any Clock<Duration> = ContinuousClock(),
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    hedge(
      Hedging(attempts: attempts, delay: TimeSpan(delay), budget: budget, observer: observer),
      TimeSource(clock),
      Placed(operation, on: executor))
  }

  /// The same as ``hedged(attempts:delay:budget:clock:observer:_:)``, for an asynchronous operation.
  ///
  /// **Execution.** Each attempt runs in its own task, in the isolation in which `operation` was
  /// written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    let operation = IsolatedOperation(operation)
    let hedging = Hedging(
      attempts: attempts, delay: TimeSpan(delay), budget: budget, observer: observer)
    let (promise, resolver) = Promise.withResolvers()
    resolver.settleWithTask {
      // First the promise, because the other attempts can ignore their cancellation.
      try await hedgeWithTasks(
        hedging, TimeSource(clock), first: { resolver.settle(.success($0.value)) }
      ) {
        try await operation()
      }
    }
    return operation.settling(promise)
  }

  static func hedge(
    _ hedging: Hedging, _ time: TimeSource, _ operation: Placed<@Sendable () throws -> Promise>
  ) -> Promise {
    if let error = hedging.invalidity { return .rejected(error) }
    let operation = operation.kept()
    let start = operation.ignoringVoid()
    let result = Root<Value>()
    HedgeRun(
      hedging, time, result,
      operation: { Promise<Void>.value(()).chained(start).cell },
      succeed: { result.copy(from: $0, as: Value.self) }
    ).start()
    return Promise(cell: result)
  }
}

/// The arguments of one call of `hedged`.
struct Hedging: Sendable {
  let attempts: Int
  let delay: TimeSpan
  let budget: RetryBudget?
  let observer: AttemptObserver?

  var invalidity: PromiseError? {
    if attempts >= 1 { return nil }
    return .invalidArgument("hedged needs at least one attempt, not \(attempts).")
  }
}

/// Calls `operation`, and calls it again each time `delay` passes without a value, until one of at
/// most `attempts` calls has returned a value.
///
/// The first value wins. The other attempts are cancelled, and this call returns when they have
/// ended: if they can ignore cancellation, use `Promise.hedged`, which doesn't wait. See
/// `Promise.hedged(attempts:delay:budget:clock:observer:_:)`.
///
/// **Errors.** If all attempts fail, the error of the first one. If `attempts` is less than one,
/// ``PromiseError/invalidArgument(_:)``.
///
/// **Execution.** Each attempt runs in a child task, in the isolation in which `operation` was
/// written; `observer` runs in the caller's task.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
nonisolated(nonsending) public func hedged<Value>(
  attempts: Int = 2, delay: Duration, budget: RetryBudget? = nil,
  clock: any Clock<Duration> = ContinuousClock(),
  observer: (@Sendable (FailedAttempt) -> Void)? = nil,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    @escaping @Sendable () async throws -> sending Value
) async throws -> Value {
  try await hedgeWithTasks(
    Hedging(attempts: attempts, delay: TimeSpan(delay), budget: budget, observer: observer),
    TimeSource(clock), operation)
}

/// - Parameter first: Receives the first value, before the other attempts have ended.
nonisolated(nonsending) private func hedgeWithTasks<Value>(
  _ hedging: Hedging, _ time: TimeSource, first: (Moved<Value>) -> Void = { _ in },
  _ operation: @escaping @Sendable () async throws -> sending Value
) async throws -> Value {
  if let error = hedging.invalidity { throw error }
  let result: Result<Moved<Value>, any Error> = await withTaskGroup(
    of: HedgeEvent<Value>.self
  ) { group in
    defer { group.cancelAll() }
    var progress = HedgeProgress<any Error>(hedging)
    var next = progress.start()
    while true {
      switch next {
      case .start(let number, let needsToken):
        // The attempts that follow a cancellation would only be cancelled, too.
        guard number == 1 || !Task.isCancelled,
          hedging.admits(number, needsToken: needsToken)
        else {
          next = progress.stop()
          continue
        }
        group.addTask { .ended(number, await movedResult(of: operation)) }
        if progress.waits(after: number) {
          group.addTask {
            try? await Promise<Void>.after(hedging.delay, time).value
            return .delayed(number)
          }
        }
      case .wait: break
      case .fail(let error): return .failure(error ?? CancellationError())
      }
      switch await group.next() {
      case .ended(_, .success(let value))?:
        hedging.noteValue(isInTime: progress.isInTime)
        first(value)
        return .success(value)
      case .ended(let number, .failure(let error))?:
        next = progress.fail(number, error, error)
        hedging.observe(number, error, next)
      case .delayed(let number)?: next = progress.pass(after: number)
      case nil: next = .fail(nil)
      }
    }
  }
  return try result.get().value
}

private enum HedgeEvent<Value>: Sendable {
  case ended(Int, Result<Moved<Value>, any Error>)
  /// The delay after this attempt has passed.
  case delayed(Int)
}
