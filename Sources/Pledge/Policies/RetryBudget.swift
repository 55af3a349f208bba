/// A shared limit on retries that prevents clients from multiplying the load of a failing service.
///
/// Each retry takes one token, and each success adds a fraction of one. A retry that sends nothing to
/// the service costs nothing: one that is cancelled during its delay, or that a circuit breaker or a
/// full limiter rejects. When most requests fail, the tokens run out, and
/// operations fail after their first attempt; when requests succeed again, retries are possible
/// again. Share one budget among all policies for the same service.
///
/// A budget can also limit hedges; then only values that arrive before the hedge's delay add tokens,
/// so that a service that is slow as a whole receives no more of them. See
/// `Promise.hedged(attempts:delay:budget:clock:observer:_:)`.
///
/// ```swift
/// let budget = RetryBudget(capacity: 10, tokensPerSuccess: 0.1)
/// let policy = RetryPolicy.exponential(attempts: 4, from: .milliseconds(100)).withBudget(budget)
/// ```
public final class RetryBudget: Sendable {
  private let capacity: Double
  private let tokensPerSuccess: Double
  private let state: Mutex<Double>

  /// Creates a full budget.
  ///
  /// - Parameters:
  ///   - capacity: The maximum number of tokens, which is the number of retries that are possible
  ///     without a success. A negative number counts as zero.
  ///   - tokensPerSuccess: The number of tokens that each success adds, such as 0.1 for one retry
  ///     per ten successes. A negative number, or one that isn't a number, counts as zero.
  public init(capacity: Int = 10, tokensPerSuccess: Double = 0.1) {
    self.capacity = Double(max(capacity, 0))
    self.tokensPerSuccess = tokensPerSuccess > 0 ? tokensPerSuccess : 0
    state = Mutex(self.capacity)
  }

  /// The number of retries that are left.
  public var remaining: Int {
    // As a `Double`, `Int.max` is rounded up to a number that doesn't fit in an `Int`.
    state.withLock { $0 < 0x1p63 ? Int($0) : .max }
  }

  /// Takes a token for a retry; returns false if there is none.
  func withdraw() -> Bool {
    state.withLock { tokens in
      guard tokens >= 1 else { return false }
      tokens -= 1
      return true
    }
  }

  /// Puts back the token of a retry that has sent nothing.
  func putBack() {
    state.withLock { $0 = min(capacity, $0 + 1) }
  }

  /// Adds the tokens of a success; rounded to millionths, so that ten tenths are one.
  @usableFromInline
  func deposit() {
    state.withLock { $0 = min(capacity, (($0 + tokensPerSuccess) * 1e6).rounded() / 1e6) }
  }
}

extension Error {
  /// Whether a policy rejected the operation, which has sent nothing.
  var isLocalRejection: Bool { self is CircuitOpenError || self is Limiter.QueueFullError }
}
