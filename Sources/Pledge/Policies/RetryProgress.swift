/// The attempts of one call of `retry` so far, and what follows each of them.
///
/// The forms for promises and for asynchronous functions share it.
@usableFromInline
struct RetryProgress: Sendable {
  /// The time that one attempt may take.
  @usableFromInline
  struct Limit: Sendable {
    @usableFromInline let span: TimeSpan
    /// The limit that the error names: the policy's own, of which this can be the rest.
    @usableFromInline let named: TimeSpan
  }

  /// Returns the time since the first attempt started; nil if the policy has no deadline.
  private let elapsed: (@Sendable () -> TimeSpan)?
  private(set) var attemptsMade = 0
  /// Whether the last attempt, or the one that follows it, has taken a token of the budget.
  private var hasToken = false

  @usableFromInline
  init(_ policy: RetryPolicy, _ time: TimeSource) {
    elapsed = policy.totalTime == nil ? nil : time.stopwatch()
  }

  /// The time until the policy's deadline; nil if it has none.
  private func rest(of policy: RetryPolicy) -> TimeSpan? {
    guard let total = policy.totalTime, let elapsed else { return nil }
    return total - elapsed()
  }

  /// Returns the limit of the next attempt; nil for none.
  @usableFromInline
  func limit(_ policy: RetryPolicy) -> Limit? {
    let own = policy.attemptTime.map { Limit(span: $0, named: $0) }
    guard let total = policy.totalTime, let rest = rest(of: policy) else { return own }
    if let own, own.span <= rest { return own }
    return Limit(span: rest, named: total)
  }

  /// Records a failed attempt, and returns the delay before the next one; nil if there is none, so
  /// that the operation fails with `error`.
  ///
  /// This calls closures of the policy, and can take a token of its budget.
  @usableFromInline
  mutating func delay(after error: any Error, _ policy: RetryPolicy) -> TimeSpan? {
    attemptsMade += 1
    // A cancelled attempt is neither a failure nor repeated.
    if error is CancellationError { return nil }
    // An attempt that was rejected locally has sent nothing: the next one has its token, if any.
    let isSent = !error.isLocalRejection
    if isSent { hasToken = false }
    let delay = nextDelay(after: error, policy, needsToken: isSent)
    if delay == nil { putBack(policy) }
    policy.observer?(FailedAttempt(number: attemptsMade, error: error, pause: delay))
    if delay == nil { policy.note(.gaveUp) }
    return delay
  }

  /// Puts back the token of an attempt that doesn't start, or was rejected locally.
  mutating func putBack(_ policy: RetryPolicy) {
    if hasToken { policy.budget?.putBack() }
    hasToken = false
  }

  private mutating func nextDelay(
    after error: any Error, _ policy: RetryPolicy, needsToken: Bool
  ) -> TimeSpan? {
    guard attemptsMade < policy.attempts, policy.isRetryable(error) else { return nil }
    let delay = policy.pause(after: error, attemptsMade: attemptsMade)
    // A delay that ends after the deadline would only postpone the error.
    if let rest = rest(of: policy), rest <= max(delay, .zero) { return nil }
    if needsToken, let budget = policy.budget {
      guard budget.withdraw() else { return nil }
      hasToken = true
    }
    return delay
  }
}

extension RetryPolicy {
  /// Counts an event in the policy's metrics or, without any, in those of the process.
  func note(_ event: PolicyEvent) {
    if let monitor {
      monitor(event)
    } else {
      Monitoring.policies.note(event)
    }
  }

  /// The error of a policy that allows no attempt; nil for others.
  @usableFromInline var invalidity: PromiseError? {
    if attempts >= 1 { return nil }
    return .invalidArgument("retry needs at least one attempt, not \(attempts).")
  }
}
