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
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var delay: @Sendable (_ attemptsMade: Int) -> Duration {
    get { { [pause] made in pause(made).duration } }
    set { pause = { made in TimeSpan(newValue(made)) } }
  }
  /// Whether an error is worth another attempt.
  ///
  /// `CancellationError` never is.
  public var isRetryable: @Sendable (any Error) -> Bool = { _ in true }
  /// A delay that an error asks for, which then replaces the policy's own ("retry after").
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var requestedDelay: @Sendable (any Error) -> Duration? {
    get { { [requestedPause] error in requestedPause(error)?.duration } }
    set { requestedPause = { error in newValue(error).map { TimeSpan($0) } } }
  }
  /// How long one attempt may take; nil for as long as it likes.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var attemptTimeout: Duration? {
    get { attemptTime?.duration }
    set { attemptTime = newValue.map { TimeSpan($0) } }
  }
  /// How long all attempts and delays may take together; nil for as long as they like.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var deadline: Duration? {
    get { totalTime?.duration }
    set { totalTime = newValue.map { TimeSpan($0) } }
  }
  /// What limits the retries of all operations that share it; nil for no common limit.
  public var budget: RetryBudget?

  // What the properties above stand for: a `Duration` cannot be stored where the system may be older
  // than it is.
  var pause: @Sendable (_ attemptsMade: Int) -> TimeSpan
  package var requestedPause: @Sendable (any Error) -> TimeSpan? = { _ in nil }
  var attemptTime: TimeSpan?
  var totalTime: TimeSpan?

  init(attempts: Int, pause: @escaping @Sendable (_ attemptsMade: Int) -> TimeSpan) {
    self.attempts = attempts
    self.pause = pause
  }

  /// How long to wait after `error`, the last of so many attempts.
  func pause(after error: any Error, attemptsMade: Int) -> TimeSpan {
    requestedPause(error) ?? pause(attemptsMade)
  }

  /// Makes a policy with delays of your own.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(attempts: Int, delay: @escaping @Sendable (_ attemptsMade: Int) -> Duration) {
    self.init(attempts: attempts, pause: { made in TimeSpan(delay(made)) })
  }

  /// Waits the same time before each attempt.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func fixed(attempts: Int, delay: Duration = .seconds(1)) -> RetryPolicy {
    fixed(attempts, TimeSpan(delay))
  }

  static func fixed(_ attempts: Int, _ delay: TimeSpan) -> RetryPolicy {
    RetryPolicy(attempts: attempts, pause: { _ in delay })
  }

  /// Waits `step` longer before each attempt.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func linear(attempts: Int, step: Duration) -> RetryPolicy {
    linear(attempts, TimeSpan(step))
  }

  static func linear(_ attempts: Int, _ step: TimeSpan) -> RetryPolicy {
    RetryPolicy(attempts: attempts, pause: { made in step * Double(made) })
  }

  /// Waits twice as long (or `factor` times) before each attempt, but never longer than `maximum`.
  ///
  /// After a negative `factor` there is no wait; a `factor` that is not a number makes each wait but
  /// the first one `maximum`.
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
        // With a factor of 1, the number of attempts may be anything.
        if next == delay { return delay }
        delay = next
      }
      return delay
    }
  }

  /// Waits for a random part of the delay ("full jitter"), so that clients do not come back all at
  /// once.
  ///
  /// `random` returns a number from 0 up to, but not including, 1. A smaller one counts as 0; a
  /// larger one, or one that is not a number, as 1.
  public func withJitter(
    random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) -> RetryPolicy {
    var policy = self
    policy.pause = { [pause] made in
      let part = random()
      return part < 1 ? pause(made) * max(part, 0) : pause(made)
    }
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
