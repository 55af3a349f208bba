/// When and how often to try again.
///
/// ```swift
/// Promise.retry(.exponential(attempts: 5, from: .milliseconds(200)).withJitter()) { download(url) }
/// ```
///
/// For an `async` operation, see ``retry(_:clock:_:)``.
public struct RetryPolicy: Sendable {
  /// How many attempts there are at the most, the first one included.
  public var attempts: Int
  /// How long to wait before another attempt; the argument is the number of attempts made.
  public var delay: @Sendable (_ attemptsMade: Int) -> Duration
  /// Whether an error is worth another attempt.
  ///
  /// `CancellationError` never is.
  public var isRetryable: @Sendable (any Error) -> Bool = { _ in true }
  /// A delay that an error asks for, which then replaces the policy's own ("retry after").
  public var requestedDelay: @Sendable (any Error) -> Duration? = { _ in nil }
  /// How long one attempt may take; nil for as long as it likes.
  public var attemptTimeout: Duration?
  /// How long all attempts and delays may take together; nil for as long as they like.
  public var deadline: Duration?
  /// What limits the retries of all operations that share it; nil for no common limit.
  public var budget: RetryBudget?

  /// Makes a policy with delays of your own.
  public init(attempts: Int, delay: @escaping @Sendable (_ attemptsMade: Int) -> Duration) {
    self.attempts = attempts
    self.delay = delay
  }

  /// Waits the same time before each attempt.
  public static func fixed(attempts: Int, delay: Duration = .seconds(1)) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { _ in delay }
  }

  /// Waits `step` longer before each attempt.
  public static func linear(attempts: Int, step: Duration) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { step * $0 }
  }

  /// Waits twice as long (or `factor` times) before each attempt, but never longer than `maximum`.
  public static func exponential(
    attempts: Int, from first: Duration, factor: Double = 2, maximum: Duration = .seconds(60)
  ) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { made in
      var delay = min(first, maximum)
      for _ in 1..<max(made, 1) {
        // Compared as numbers of seconds: a duration would trap where they overflow.
        let next = delay / .seconds(1) * factor
        guard next < maximum / .seconds(1) else { return maximum }
        guard next > 0 else { return .zero }
        delay = delay * factor
      }
      return delay
    }
  }

  /// Waits for a random part of the delay ("full jitter"), so that clients do not come back all at
  /// once.
  ///
  /// `random` returns a number from 0 up to, but not including, 1.
  public func withJitter(
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) -> RetryPolicy {
    var policy = self
    policy.delay = { [delay] made in delay(made) * random() }
    return policy
  }

  /// Tries again only after errors of the type `type`.
  public func retrying<E: Error>(only type: E.Type) -> RetryPolicy { retrying { $0 is E } }

  /// Tries again only while `budget` has retries left.
  public func withBudget(_ budget: RetryBudget) -> RetryPolicy {
    var policy = self
    policy.budget = budget
    return policy
  }

  /// Tries again only after errors that `predicate` accepts.
  public func retrying(when predicate: @escaping @Sendable (any Error) -> Bool) -> RetryPolicy {
    var policy = self
    policy.isRetryable = predicate
    return policy
  }
}
