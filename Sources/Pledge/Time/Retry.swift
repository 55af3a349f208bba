/// When and how often to try again.
///
/// ```swift
/// Promise.retry(.exponential(attempts: 5, from: .milliseconds(200)).withJitter()) { download(url) }
/// ```
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

  /// Tries again only after errors that `predicate` accepts.
  public func retrying(when predicate: @escaping @Sendable (any Error) -> Bool) -> RetryPolicy {
    var policy = self
    policy.isRetryable = predicate
    return policy
  }
}

/// The error of a retried operation all of whose attempts failed.
public struct RetryError: Error, Sendable, CustomStringConvertible {
  /// The error of each attempt, in order.
  public let errors: [any Error]

  /// The error of the last attempt.
  public var last: (any Error)? { errors.last }

  /// Lists the errors.
  public var description: String {
    "All \(errors.count) attempts failed: \(errors.map { "\($0)" }.joined(separator: "; "))"
  }
}

extension Promise {
  /// Calls `operation` until its promise is fulfilled, as `policy` says.
  ///
  /// The first attempt starts inside this call. The result is rejected with a ``RetryError`` that
  /// holds the errors of all attempts, when there are none left or the last error is not worth
  /// another one; with ``TimeoutError`` when the policy's deadline has passed; and with
  /// ``PromiseError/invalidArgument(_:)`` when the policy has less than one attempt. Cancelling it
  /// cancels the attempt or the delay that is under way.
  ///
  /// **Execution.** `operation` runs in place: in this call, and later where the delay ends.
  public static func retry(
    _ policy: RetryPolicy, clock: any Clock<Duration> = ContinuousClock(),
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    guard policy.attempts >= 1 else {
      return .rejected(
        PromiseError.invalidArgument(
          "retry needs at least one attempt, not \(policy.attempts)."))
    }
    let result = attempt(policy, clock, operation, errors: [])
    guard let deadline = policy.deadline else { return result }
    return result.timeout(after: deadline, clock: clock)
  }

  private static func attempt(
    _ policy: RetryPolicy, _ clock: any Clock<Duration>,
    _ operation: @escaping @Sendable () throws -> Promise, errors: [any Error]
  ) -> Promise {
    var current = Promise.attempt { try operation() } as Promise
    if let timeout = policy.attemptTimeout {
      current = current.timeout(after: timeout, clock: clock)
    }
    return current.recoveredWithPromise(_HandlerTarget(immediate: ())) { error in
      if error is CancellationError { throw error }
      let errors = errors + [error]
      guard errors.count < policy.attempts, policy.isRetryable(error) else {
        throw RetryError(errors: errors)
      }
      let delay = policy.requestedDelay(error) ?? policy.delay(errors.count)
      return Promise<Void>.after(delay, clock: clock).chained(_HandlerTarget(immediate: ())) {
        attempt(policy, clock, operation, errors: errors)
      }
    }
  }
}
