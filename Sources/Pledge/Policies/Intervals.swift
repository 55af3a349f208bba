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
  /// The same as ``after(_:clock:)``, for systems without `Duration`; never fulfilled after `.never`.
  @_disfavoredOverload
  public static func after(_ interval: DispatchTimeInterval) -> Promise<Void> {
    after(TimeSpan(interval), .continuous)
  }
}

extension Thenable {
  /// The same as ``delay(_:clock:)``, for systems without `Duration`.
  @_disfavoredOverload
  public func delay(_ interval: DispatchTimeInterval) -> Promise<Value> {
    source.delayed(TimeSpan(interval), .continuous)
  }

  /// The same as ``timeout(after:clock:)``, for systems without `Duration`; `.never` sets no
  /// limit.
  @_disfavoredOverload
  public func timeout(after interval: DispatchTimeInterval) -> Promise<Value> {
    source.timeout(TimeSpan(interval), .continuous)
  }
}

extension Promise {
  /// The same as ``hedged(attempts:delay:budget:clock:observer:_:)``, for systems without `Duration`.
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay interval: DispatchTimeInterval, budget: RetryBudget? = nil,
    observer: (@Sendable (FailedAttempt) -> Void)? = nil,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    hedge(
      Hedging(attempts: attempts, delay: TimeSpan(interval), budget: budget, observer: observer),
      .continuous,
      Placed(operation))
  }

  /// The same as ``retry(_:clock:_:)``, with the continuous clock.
  @inlinable
  public static func retry(
    _ policy: RetryPolicy,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    retried(policy, .continuous, Placed(operation))
  }

  /// The same as ``retry(on:_:clock:_:)``, with the continuous clock.
  @inlinable @_disfavoredOverload
  public static func retry(
    on executor: some PromiseExecutor, _ policy: RetryPolicy,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    retried(policy, .continuous, Placed(operation, on: executor))
  }

  /// The same as ``retry(_:clock:_:)`` for an asynchronous `operation`, with the continuous clock.
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
  /// The same as the function with `Duration`, for systems without it.
  @_disfavoredOverload
  public static func fixed(
    attempts: Int, delay: DispatchTimeInterval = .seconds(1)
  ) -> RetryPolicy {
    fixed(attempts, TimeSpan(delay))
  }

  /// The same as the function with `Duration`, for systems without it.
  @_disfavoredOverload
  public static func exponential(
    attempts: Int, from first: DispatchTimeInterval, factor: Double = 2,
    maximum: DispatchTimeInterval = .seconds(60)
  ) -> RetryPolicy {
    exponential(attempts, TimeSpan(first), factor, TimeSpan(maximum))
  }

  /// Returns this policy with a time limit of `interval` for each attempt; see ``attemptTimeout``.
  public func withAttemptTimeout(_ interval: DispatchTimeInterval) -> RetryPolicy {
    with(\.attemptTime, TimeSpan(interval))
  }

  /// Returns this policy with a time limit of `interval` for all attempts and delays together; see
  /// ``deadline``.
  public func withDeadline(_ interval: DispatchTimeInterval) -> RetryPolicy {
    with(\.totalTime, TimeSpan(interval))
  }

  /// Returns this policy with the delays that errors request.
  ///
  /// `requested` is called with each retried error, and returns the delay that the error requests,
  /// if any; see ``requestedDelay``.
  public func withRequestedDelay(
    _ requested: @escaping @Sendable (any Error) -> DispatchTimeInterval?
  ) -> RetryPolicy {
    with(\.requestedPause) { @Sendable error in requested(error).map { TimeSpan($0) } }
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
  /// The same as ``failureRate(_:inLast:minimumCalls:)``, for systems without `Duration`.
  @_disfavoredOverload
  public static func failureRate(
    _ rate: Double, inLast period: DispatchTimeInterval, minimumCalls: Int = 10
  ) -> CircuitBreaker.Threshold {
    failureRate(rate, TimeSpan(period), minimumCalls)
  }
}

extension ResiliencePipeline.Policy {
  /// The same as ``timeout(_:)``, for systems without `Duration`.
  @_disfavoredOverload
  public static func timeout(_ interval: DispatchTimeInterval) -> ResiliencePipeline.Policy {
    timeout(TimeSpan(interval))
  }
}

extension CoalescerCaching {
  /// The same as the initializer with `Duration`, for systems without it.
  @_disfavoredOverload
  public init(
    lifetime: DispatchTimeInterval? = nil, staleLifetime: DispatchTimeInterval = .seconds(0),
    capacity: Int? = nil
  ) {
    self.init(lifetime.map { TimeSpan($0) }, stale: TimeSpan(staleLifetime), capacity)
  }
}

extension DataLoader {
  /// The same as ``init(maxBatchSize:delay:caching:clock:_:)``, for systems without `Duration`; a
  /// batch with the delay `.never` starts only when it is full.
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
  /// The same as ``init(debounce:clock:)``, for systems without `Duration`.
  @_disfavoredOverload
  public convenience init(debounce: DispatchTimeInterval = .seconds(0)) {
    self.init(TimeSpan(debounce), .continuous)
  }
}

// MARK: - Asynchronous functions

/// The same as ``retry(_:clock:_:)``, with the continuous clock.
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

/// The same as ``withTimeout(_:clock:_:)``, for systems without `Duration`.
@inlinable
nonisolated(nonsending) public func withTimeout<Value>(
  _ interval: DispatchTimeInterval,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Value
) async throws -> sending Value {
  try await limited(TimeSpan(interval), .continuous, AsyncOperation(operation)).value
}

/// The same as ``withTimeout(_:clock:_:)``, for an operation without a value, and for systems without
/// `Duration`.
nonisolated(nonsending) public func withTimeout(
  _ interval: DispatchTimeInterval,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Void
) async throws {
  _ = try await limited(TimeSpan(interval), .continuous, AsyncOperation(operation))
}
