import Dispatch

// The operators that take a time, for systems that are older than `Duration`: before macOS 13, iOS 16,
// tvOS 16 and watchOS 9.
//
// They take Dispatch's intervals, and not seconds, because these are written as durations are. A call
// like `promise.timeout(after: .seconds(5))` means one of these where the deployment target is old, and
// the one with `Duration` elsewhere: the code stays as it is when the target is raised. Numbers of
// seconds would have to be rewritten then. All are disfavored, so that there is never a question which
// of the two is meant. None takes a clock, since `Clock` is as new as `Duration`.

extension Guarantee where Value == Void {
  /// Makes a guarantee that is fulfilled after `interval`.
  ///
  /// As ``after(_:clock:)``, also on systems without `Duration`. After `.never` it is never fulfilled.
  @_disfavoredOverload
  public static func after(_ interval: DispatchTimeInterval) -> Guarantee<Void> {
    after(TimeSpan(interval), .continuous)
  }
}

extension Promise where Value == Void {
  /// Makes a promise that is fulfilled after `interval`.
  ///
  /// As ``after(_:clock:)``, also on systems without `Duration`. After `.never` it is never fulfilled.
  @_disfavoredOverload
  public static func after(_ interval: DispatchTimeInterval) -> Promise<Void> {
    after(TimeSpan(interval), .continuous)
  }
}

extension Promise {
  /// Passes the value on after `interval`; an error passes at once.
  ///
  /// As ``delay(_:clock:)``, also on systems without `Duration`.
  @_disfavoredOverload
  public func delay(_ interval: DispatchTimeInterval) -> Promise {
    delayed(TimeSpan(interval), .continuous)
  }

  /// Returns a promise with the same outcome that is rejected with ``TimeoutError`` if that takes
  /// longer than `interval`.
  ///
  /// As ``timeout(after:clock:)``, also on systems without `Duration`. `.never` sets no limit.
  @_disfavoredOverload
  public func timeout(after interval: DispatchTimeInterval) -> Promise {
    timeout(TimeSpan(interval), .continuous)
  }

  /// Starts `operation`, and starts it again each time that `interval` passes without a value, until
  /// one of at most `attempts` has a value.
  ///
  /// As ``hedged(attempts:delay:clock:_:)``, also on systems without `Duration`.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay interval: DispatchTimeInterval,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    hedge(
      attempts, TimeSpan(interval), .continuous, HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise).self))
  }

  /// Calls `operation` until its promise is fulfilled, as `policy` says.
  ///
  /// The returned promise is rejected with a ``RetryError`` that holds the errors of all attempts,
  /// when there are none left, the last error is not worth another one, or the policy's deadline has
  /// passed; and with ``PromiseError/invalidArgument(_:)`` when the policy has less than one attempt.
  /// Cancelling it cancels the attempt or the delay that is under way.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written, the first attempt
  /// soon after this call.
  public static func retry(
    _ policy: RetryPolicy,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    retried(
      policy, .continuous, HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise).self))
  }

  /// Calls `operation` until its promise is fulfilled, as `policy` says.
  ///
  /// See ``retry(_:clock:_:)``.
  ///
  /// **Execution.** `operation` runs on `executor`.
  @_disfavoredOverload
  public static func retry(
    on executor: some PromiseExecutor, _ policy: RetryPolicy,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    retried(policy, .continuous, HandlerTarget(executor), operation)
  }

  /// Calls `operation`, on the main actor, until its promise is fulfilled, as `policy` says.
  ///
  /// See ``retry(_:clock:_:)``.
  public static func retry(
    on executor: MainExecutor, _ policy: RetryPolicy,
    _ operation: @escaping @MainActor @Sendable () throws -> Promise
  ) -> Promise { retry(policy, operation) }

  /// Calls an asynchronous `operation` until it returns, as `policy` says.
  ///
  /// Cancelling the returned promise rejects it at once and cancels the task of the attempt.
  /// Otherwise, as ``retry(_:clock:_:)``.
  ///
  /// **Execution.** Each attempt runs in a task of its own, in the isolation in which `operation` was
  /// written.
  @_disfavoredOverload
  public static func retry(
    _ policy: RetryPolicy,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    let operation = keeping(operation)
    return retried(policy, .continuous, HandlerTarget(immediate: ())) {
      Promise { try await operation() }
    }
  }
}

extension Guarantee {
  /// Passes the value on after `interval`.
  ///
  /// As ``delay(_:clock:)``, also on systems without `Duration`.
  @_disfavoredOverload
  public func delay(_ interval: DispatchTimeInterval) -> Guarantee {
    Guarantee(cell: base.delay(interval).cell)
  }

  /// Returns a promise of the value that is rejected with ``TimeoutError`` if it takes longer than
  /// `interval`.
  ///
  /// As ``timeout(after:clock:)``, also on systems without `Duration`.
  @_disfavoredOverload
  public func timeout(after interval: DispatchTimeInterval) -> Promise<Value> {
    base.timeout(after: interval)
  }
}

// MARK: - Policies

extension RetryPolicy {
  /// Makes a policy with delays of your own.
  @_disfavoredOverload
  public init(
    attempts: Int, delay: @escaping @Sendable (_ attemptsMade: Int) -> DispatchTimeInterval
  ) {
    self.init(attempts: attempts, pause: { made in TimeSpan(delay(made)) })
  }

  /// Waits the same time before each attempt.
  @_disfavoredOverload
  public static func fixed(
    attempts: Int, delay: DispatchTimeInterval = .seconds(1)
  ) -> RetryPolicy {
    fixed(attempts, TimeSpan(delay))
  }

  /// Waits `step` longer before each attempt.
  @_disfavoredOverload
  public static func linear(attempts: Int, step: DispatchTimeInterval) -> RetryPolicy {
    linear(attempts, TimeSpan(step))
  }

  /// Waits twice as long (or `factor` times) before each attempt, but never longer than `maximum`.
  @_disfavoredOverload
  public static func exponential(
    attempts: Int, from first: DispatchTimeInterval, factor: Double = 2,
    maximum: DispatchTimeInterval = .seconds(60)
  ) -> RetryPolicy {
    exponential(attempts, TimeSpan(first), factor, TimeSpan(maximum))
  }

  /// Gives each attempt at most `interval`, as ``attemptTimeout`` does.
  public func withAttemptTimeout(_ interval: DispatchTimeInterval) -> RetryPolicy {
    var policy = self
    policy.attemptTime = TimeSpan(interval)
    return policy
  }

  /// Gives all attempts and delays together at most `interval`, as ``deadline`` does.
  public func withDeadline(_ interval: DispatchTimeInterval) -> RetryPolicy {
    var policy = self
    policy.totalTime = TimeSpan(interval)
    return policy
  }

  /// Waits as long as an error asks for, where `requested` returns an interval, as
  /// ``requestedDelay`` does.
  public func withRequestedDelay(
    _ requested: @escaping @Sendable (any Error) -> DispatchTimeInterval?
  ) -> RetryPolicy {
    var policy = self
    policy.requestedPause = { error in requested(error).map { TimeSpan($0) } }
    return policy
  }
}

extension TimeoutError {
  /// Makes the error of a wait of `interval`.
  @_disfavoredOverload
  public init(duration interval: DispatchTimeInterval) { self.init(TimeSpan(interval)) }
}

extension Limiter.Rate {
  /// Makes a rate of `count` operations in each `period`.
  @_disfavoredOverload
  public init(_ count: Int, per period: DispatchTimeInterval) {
    self.init(count, TimeSpan(period))
  }
}

extension CoalescerCaching {
  /// Keeps values for `lifetime`, and serves them for `staleLifetime` more while they are fetched
  /// anew ("stale while revalidate").
  @_disfavoredOverload
  public init(
    lifetime: DispatchTimeInterval? = nil, staleLifetime: DispatchTimeInterval = .seconds(0),
    capacity: Int? = nil
  ) {
    self.init(lifetime.map { TimeSpan($0) }, stale: TimeSpan(staleLifetime), capacity)
  }
}

extension Latest {
  /// Makes an object that runs nothing yet.
  ///
  /// - Parameter debounce: How long to wait for a newer operation before one starts.
  @_disfavoredOverload
  public convenience init(debounce: DispatchTimeInterval = .seconds(0)) {
    self.init(TimeSpan(debounce), .continuous)
  }
}

// MARK: - Asynchronous functions

/// Calls `operation` until it returns, as `policy` says.
///
/// ```swift
/// let user = try await retry(.exponential(attempts: 3, from: .milliseconds(100))) {
///   try await fetchUser(id: 7)
/// }
/// ```
///
/// Throws ``RetryError`` with the errors of all attempts when there are none left, or the policy's
/// deadline has passed. Cancelling the calling task cancels the attempt, and throws
/// `CancellationError` at once.
///
/// **Execution.** `operation` runs in the isolation in which it was written.
public func retry<Value: Sendable>(
  _ policy: RetryPolicy,
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise.retry(policy, operation).value
}

/// Returns what `operation` returns, or throws ``TimeoutError`` if that takes longer than `interval`.
///
/// As ``withTimeout(_:clock:_:)``, also on systems without `Duration`.
///
/// **Execution.** `operation` runs in the isolation in which it was written.
@_disfavoredOverload
public func withTimeout<Value: Sendable>(
  _ interval: DispatchTimeInterval,
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise(priority: nil, operation).timeout(after: interval).value
}
