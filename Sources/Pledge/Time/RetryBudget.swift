/// A shared limit on retries that prevents clients from multiplying the load of a failing service.
///
/// Each retry takes one token, and each success adds a part of one. A retry that is cancelled during
/// its delay puts its token back. When most requests fail, the
/// tokens run out and operations fail after their first attempt; when requests succeed again,
/// retries are possible again. Share one budget among all policies for the same service.
///
/// A budget can also limit hedges; see `Promise.hedged(attempts:delay:budget:clock:_:)`.
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
  ///   - capacity: The number of consecutive retries without a success. Negative counts as zero.
  ///   - tokensPerSuccess: The part of a retry that each success adds: 0.1 for one retry per ten
  ///     successes. Negative counts as zero.
  public init(capacity: Int = 10, tokensPerSuccess: Double = 0.1) {
    self.capacity = Double(max(capacity, 0))
    self.tokensPerSuccess = tokensPerSuccess > 0 ? tokensPerSuccess : 0
    state = Mutex(self.capacity)
  }

  /// The number of retries that are left.
  public var remaining: Int {
    // A `Double` rounds `Int.max` up, to what an `Int` has no room for.
    state.withLock { $0 < 0x1p63 ? Int($0) : .max }
  }

  /// Takes a token for a retry; false if there is none.
  func withdraw() -> Bool {
    state.withLock { tokens in
      guard tokens >= 1 else { return false }
      tokens -= 1
      return true
    }
  }

  /// Puts back the token of a retry that was cancelled before it started.
  func putBack() {
    state.withLock { $0 = min(capacity, $0 + 1) }
  }

  /// Earns what a success earns.
  func deposit() {
    state.withLock { $0 = min(capacity, $0 + tokensPerSuccess) }
  }
}
