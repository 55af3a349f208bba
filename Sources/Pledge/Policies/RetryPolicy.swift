/// Defines when and how often to retry an operation.
///
/// ```swift
/// Promise.retry(.exponential(attempts: 5, from: .milliseconds(200)).withJitter()) { download(url) }
/// ```
///
/// For an `async` operation, see ``retry(_:clock:_:)``.
///
/// A policy doesn't change the error: an operation fails with the error of its last attempt. To learn
/// of the others, use ``observed(by:)``.
///
/// **Execution.** The closures of a policy run in place when an attempt has failed: for a promise, as
/// in a handler on `.immediate`; for an `async` operation, in the caller's task.
public struct RetryPolicy: Sendable {
  /// The maximum number of attempts, including the first.
  public var attempts: Int
  /// The delay before the next attempt, given the number of attempts made.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var delay: @Sendable (_ attemptsMade: Int) -> Duration {
    get { { [pause] made in pause(made).duration } }
    set { pause = { made in TimeSpan(newValue(made)) } }
  }
  /// Whether to retry after an error.
  ///
  /// A `CancellationError` is never retried.
  package var isRetryable: @Sendable (any Error) -> Bool = { _ in true }
  /// The delay that an error requests ("retry after"), which replaces the policy's own delay; nil
  /// for none.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var requestedDelay: @Sendable (any Error) -> Duration? {
    get { { [requestedPause] error in requestedPause(error)?.duration } }
    set { requestedPause = { error in newValue(error).map { TimeSpan($0) } } }
  }
  /// The time limit for one attempt; nil for no limit.
  ///
  /// An attempt that exceeds it fails with ``TimeoutError``, which can be retried.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var attemptTimeout: Duration? {
    get { attemptTime?.duration }
    set { attemptTime = newValue.map { TimeSpan($0) } }
  }
  /// The time limit for all attempts and delays together; nil for no limit.
  ///
  /// The attempt during which it passes fails with ``TimeoutError``, and isn't repeated. A delay
  /// that would end after the deadline isn't started: the operation fails with its last error.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var deadline: Duration? {
    get { totalTime?.duration }
    set { totalTime = newValue.map { TimeSpan($0) } }
  }
  /// A closure that is called with each failed attempt; nil for none.
  ///
  /// A `CancellationError` doesn't count as a failure.
  package var observer: (@Sendable (FailedAttempt) -> Void)?
  /// The monitor of retries with this policy, which replaces the process's monitors.
  package var monitor: Monitor<PolicyEvent>?
  /// The budget that limits the retries of all operations that share it; nil for no shared limit.
  @usableFromInline package var budget: RetryBudget?

  // The storage of the properties above: a stored property can't have the type `Duration` if the
  // deployment target is older than that type.
  var pause: @Sendable (_ attemptsMade: Int) -> TimeSpan
  package var requestedPause: @Sendable (any Error) -> TimeSpan? = { _ in nil }
  @usableFromInline var attemptTime: TimeSpan?
  @usableFromInline var totalTime: TimeSpan?

  init(attempts: Int, pause: @escaping @Sendable (_ attemptsMade: Int) -> TimeSpan) {
    self.attempts = attempts
    self.pause = pause
  }

  /// Returns the delay after attempt number `attemptsMade`, which failed with `error`.
  func pause(after error: any Error, attemptsMade: Int) -> TimeSpan {
    requestedPause(error) ?? pause(attemptsMade)
  }

  /// Creates a policy with custom delays.
  ///
  /// `delay` is called before each attempt after the first.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(attempts: Int, delay: @escaping @Sendable (_ attemptsMade: Int) -> Duration) {
    self.init(attempts: attempts, pause: { made in TimeSpan(delay(made)) })
  }

  /// Returns a policy with the same delay before each attempt.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func fixed(attempts: Int, delay: Duration = .seconds(1)) -> RetryPolicy {
    fixed(attempts, TimeSpan(delay))
  }

  static func fixed(_ attempts: Int, _ delay: TimeSpan) -> RetryPolicy {
    RetryPolicy(attempts: attempts, pause: { _ in delay })
  }

  /// Returns a policy whose delay doubles (or grows by `factor`) with each attempt, up to
  /// `maximum`.
  ///
  /// If `factor` is zero or negative, each delay but the first is zero. If `factor` isn't a number,
  /// each delay but the first is `maximum`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func exponential(
    attempts: Int, from first: Duration, factor: Double = 2, maximum: Duration = .seconds(60)
  ) -> RetryPolicy {
    exponential(attempts, TimeSpan(first), factor, TimeSpan(maximum))
  }

  static func exponential(
    _ attempts: Int, _ first: TimeSpan, _ factor: Double, _ maximum: TimeSpan
  ) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { made in
      var delay = min(first, maximum)
      for _ in 1..<max(made, 1) {
        let next = delay * factor
        guard next < maximum else { return maximum }
        guard next > .zero else { return .zero }
        // The loop ends early with a factor of 1, because the number of attempts can be huge.
        if next == delay { return delay }
        delay = next
      }
      return delay
    }
  }

  /// Returns this policy with random delays from zero to the full delay ("full jitter"), so that
  /// clients don't retry at the same time.
  ///
  /// `random` returns a number from 0 up to, but not including, 1. It is called once for each
  /// delay. A smaller number counts as 0; a larger one, or one that isn't a number, as 1.
  public func withJitter(
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) -> RetryPolicy {
    with(\.pause) { @Sendable [pause] made in
      let part = random()
      return part < 1 ? pause(made) * max(part, 0) : pause(made)
    }
  }

  /// Returns this policy, limited to errors of the type `type`.
  public func retrying<E: Error>(only type: E.Type) -> RetryPolicy { retrying { $0 is E } }

  /// Returns this policy, with retries limited by `budget`.
  public func withBudget(_ budget: RetryBudget) -> RetryPolicy { with(\.budget, budget) }

  /// Returns this policy, with an observer that is called with each failed attempt, after those
  /// that it already has.
  public func observed(
    by observer: @escaping @Sendable (FailedAttempt) -> Void
  ) -> RetryPolicy {
    with(\.observer) { @Sendable [first = self.observer] attempt in
      first?(attempt)
      observer(attempt)
    }
  }

  /// Returns this policy, limited to errors that `predicate` accepts.
  ///
  /// `predicate` is called once after each failed attempt that another attempt can follow.
  public func retrying(when predicate: @escaping @Sendable (any Error) -> Bool) -> RetryPolicy {
    with(\.isRetryable, predicate)
  }

  /// Returns this policy with another value of a property.
  func with<T>(_ property: WritableKeyPath<RetryPolicy, T>, _ value: T) -> RetryPolicy {
    var policy = self
    policy[keyPath: property] = value
    return policy
  }
}
