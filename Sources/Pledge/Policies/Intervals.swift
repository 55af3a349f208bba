import Dispatch

// The operators that take a time, for systems without `Duration`: those before macOS 13, iOS 16,
// tvOS 16, and watchOS 9.
//
// They take a `DispatchTimeInterval` rather than a number of seconds, because its values are
// spelled like durations. A call like `promise.timeout(after: .seconds(5))` uses one of these
// operators if the deployment target is old, and the one with `Duration` otherwise, so code doesn't
// change when the target is raised. Overloads that could make calls ambiguous are disfavored. None
// of them takes a clock, because `Clock` is as new as `Duration`.

extension Promise where Value == Void {
  /// Creates a promise that is fulfilled after `interval`.
  ///
  /// The same as ``after(_:clock:)``, for systems without `Duration`. After `.never` it is never
  /// fulfilled.
  @_disfavoredOverload
  public static func after(_ interval: DispatchTimeInterval) -> Promise<Void> {
    after(TimeSpan(interval), .continuous)
  }
}

extension Thenable {
  /// Passes the value on after `interval`; an error passes immediately.
  ///
  /// The same as ``delay(_:clock:)``, for systems without `Duration`.
  @_disfavoredOverload
  public func delay(_ interval: DispatchTimeInterval) -> Promise<Value> {
    source.delayed(TimeSpan(interval), .continuous)
  }

  /// Returns a promise with the same result that is rejected with ``TimeoutError`` if the result
  /// takes longer than `interval`.
  ///
  /// The same as ``timeout(after:clock:)``, for systems without `Duration`. `.never` sets no limit.
  @_disfavoredOverload
  public func timeout(after interval: DispatchTimeInterval) -> Promise<Value> {
    source.timeout(TimeSpan(interval), .continuous)
  }
}

extension Promise {
  /// Starts `operation`, and starts it again each time `interval` passes without a value, until one
  /// of at most `attempts` attempts has a value.
  ///
  /// The same as ``hedged(attempts:delay:budget:clock:observer:_:)``, for systems without `Duration`.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay interval: DispatchTimeInterval, budget: RetryBudget? = nil,
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    hedge(
      Hedging(attempts, TimeSpan(interval), budget, observer), .continuous,
      Placed(operation))
  }

  /// Calls `operation` until its promise is fulfilled, according to `policy`.
  ///
  /// See ``retry(_:clock:_:)``.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @inlinable
  public static func retry(
    _ policy: RetryPolicy,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    retried(
      policy, .continuous, Placed(operation))
  }

  /// Calls `operation` until its promise is fulfilled, according to `policy`.
  ///
  /// See ``retry(_:clock:_:)``.
  ///
  /// **Execution.** `operation` runs on `executor`.
  @inlinable @_disfavoredOverload
  public static func retry(
    on executor: some PromiseExecutor, _ policy: RetryPolicy,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    retried(policy, .continuous, Placed(operation, on: executor))
  }

  /// Calls an asynchronous `operation` until it returns, according to `policy`.
  ///
  /// Cancelling the returned promise rejects it immediately and cancels the task of the attempts.
  /// Otherwise, the same as the function `retry(_:_:)`.
  ///
  /// **Execution.** The attempts run in a new task, in the isolation in which `operation` was
  /// written.
  @_disfavoredOverload
  public static func retry(
    _ policy: RetryPolicy,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    retried(policy, .continuous, operation)
  }
}

// MARK: - Policies

extension RetryPolicy {
  /// Returns a policy with the same delay before each attempt.
  @_disfavoredOverload
  public static func fixed(
    attempts: Int, delay: DispatchTimeInterval = .seconds(1)
  ) -> RetryPolicy {
    fixed(attempts, TimeSpan(delay))
  }

  /// Returns a policy whose delay doubles (or grows by `factor`) with each attempt, up to
  /// `maximum`.
  @_disfavoredOverload
  public static func exponential(
    attempts: Int, from first: DispatchTimeInterval, factor: Double = 2,
    maximum: DispatchTimeInterval = .seconds(60)
  ) -> RetryPolicy {
    exponential(attempts, TimeSpan(first), factor, TimeSpan(maximum))
  }

  /// Returns this policy with a time limit of `interval` for each attempt; see ``attemptTimeout``.
  public func withAttemptTimeout(_ interval: DispatchTimeInterval) -> RetryPolicy {
    var policy = self
    policy.attemptTime = TimeSpan(interval)
    return policy
  }

  /// Returns this policy with a time limit of `interval` for all attempts and delays together; see
  /// ``deadline``.
  public func withDeadline(_ interval: DispatchTimeInterval) -> RetryPolicy {
    var policy = self
    policy.totalTime = TimeSpan(interval)
    return policy
  }

  /// Returns this policy with the delays that errors request.
  ///
  /// `requested` is called with each retried error, and returns the delay that the error requests,
  /// if any; see ``requestedDelay``.
  public func withRequestedDelay(
    _ requested: @escaping @Sendable (any Error) -> DispatchTimeInterval?
  ) -> RetryPolicy {
    var policy = self
    policy.requestedPause = { error in requested(error).map { TimeSpan($0) } }
    return policy
  }
}

extension Limiter.Rate {
  /// Creates a rate of `count` operations in each `period`.
  @_disfavoredOverload
  public init(_ count: Int, per period: DispatchTimeInterval) {
    self.init(count, TimeSpan(period))
  }
}

extension CircuitBreaker {
  /// Creates a closed circuit breaker.
  ///
  /// The same as ``init(_:openDuration:probes:slowCallDuration:clock:isFailure:observer:)``, for
  /// systems without `Duration`.
  @_disfavoredOverload
  public convenience init(
    _ threshold: Threshold = .consecutiveFailures(5),
    openDuration: DispatchTimeInterval = .seconds(30), probes: Int = 1,
    slowCallDuration: DispatchTimeInterval? = nil,
    isFailure: @escaping @Sendable (any Error) -> Bool = { !($0 is CancellationError) },
    observer: (@Sendable (State) -> Void)? = nil
  ) {
    self.init(
      threshold, TimeSpan(openDuration), probes, slowCallDuration.map { TimeSpan($0) }, .continuous,
      isFailure, observer)
  }
}

extension CircuitBreaker.Threshold {
  /// Opens when at least a part of the calls that ended in the last `period` failed.
  ///
  /// The same as ``failureRate(_:inLast:minimumCalls:)``, for systems without `Duration`.
  @_disfavoredOverload
  public static func failureRate(
    _ rate: Double, inLast period: DispatchTimeInterval, minimumCalls: Int = 10
  ) -> CircuitBreaker.Threshold {
    failureRate(rate, TimeSpan(period), minimumCalls)
  }
}

extension ResiliencePipeline.Policy {
  /// Cancels what the following policies do after `interval`, with ``TimeoutError``.
  ///
  /// The same as ``timeout(_:)``, for systems without `Duration`.
  @_disfavoredOverload
  public static func timeout(_ interval: DispatchTimeInterval) -> ResiliencePipeline.Policy {
    timeout(TimeSpan(interval))
  }
}

extension CoalescerCaching {
  /// Caches values for `lifetime`, and returns stale values for another `staleLifetime` while they
  /// are refreshed ("stale while revalidate").
  @_disfavoredOverload
  public init(
    lifetime: DispatchTimeInterval? = nil, staleLifetime: DispatchTimeInterval = .seconds(0),
    capacity: Int? = nil
  ) {
    self.init(lifetime.map { TimeSpan($0) }, stale: TimeSpan(staleLifetime), capacity)
  }
}

extension DataLoader {
  /// Creates a loader.
  ///
  /// The same as ``init(maxBatchSize:delay:caching:clock:_:)``, for systems without `Duration`. A
  /// batch with the delay `.never` starts only when it is full.
  ///
  /// **Execution.** `load` runs in its own task for each batch, in the isolation in which it was
  /// written.
  @_disfavoredOverload
  public convenience init(
    maxBatchSize: Int? = nil, delay: DispatchTimeInterval = .milliseconds(1),
    caching: CoalescerCaching? = nil,
    @_inheritActorContext _ load:
      @escaping @Sendable @isolated(any) ([Key]) async throws -> [Key: Result<Value, any Error>]
  ) {
    self.init(
      RequestCoalescer(caching: caching), maxBatchSize, TimeSpan(delay), .continuous, load)
  }
}

extension LatestOnly {
  /// Creates an object without an operation.
  ///
  /// - Parameter debounce: The time to wait for a newer operation before an operation starts.
  @_disfavoredOverload
  public convenience init(debounce: DispatchTimeInterval = .seconds(0)) {
    self.init(TimeSpan(debounce), .continuous)
  }
}

// MARK: - Asynchronous functions

/// Calls `operation` until it returns, according to `policy`.
///
/// See ``retry(_:clock:_:)``.
///
/// **Execution.** `operation` runs in the calling task and in the caller's isolation.
@inlinable
nonisolated(nonsending) public func retry<Value>(
  _ policy: RetryPolicy, _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Value {
  var failure: (any Error)?
  if policy.isOnlyAskedAfterFailures {
    do { return try await operation() } catch { failure = error }
  }
  return try await retry(policy, .continuous, after: failure, operation)
}

/// Returns the result of `operation`, or throws ``TimeoutError`` if it takes longer than
/// `interval`.
///
/// The same as ``withTimeout(_:clock:_:)``, for systems without `Duration`.
///
/// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
public func withTimeout<Value>(
  _ interval: DispatchTimeInterval,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Value
) async throws -> sending Value {
  try await limited(TimeSpan(interval), .continuous, operation).value
}
