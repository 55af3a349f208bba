/// A failed attempt of a retried or hedged operation, for observers of the policy.
///
/// A policy doesn't change the error: when an operation fails permanently, the caller receives the
/// operation's own error. What happened before that, an observer receives:
///
/// ```swift
/// let policy = RetryPolicy.fixed(attempts: 3).observed { attempt in log("\(attempt)") }
/// // Attempt 1 failed: Timed out after 2.0 seconds. The next attempt starts after 1.0 seconds.
/// ```
public struct FailedAttempt: Sendable, CustomStringConvertible {
  /// The number of the attempt; the first one has the number 1.
  public let number: Int

  /// The error with which the attempt failed.
  public let error: any Error

  /// The delay before the next attempt; nil if no other attempt follows.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var delay: Duration? { pause?.duration }

  /// The delay in seconds before the next attempt; nil if no other attempt follows.
  public var delayInSeconds: Double? { pause?.inSeconds }

  let pause: TimeSpan?

  /// A description with the number, the error, and the delay before the next attempt.
  public var description: String {
    let text = "\(error)"
    let next =
      switch pause {
      case nil: "No other attempt follows."
      case let pause? where pause > .zero: "The next attempt starts after \(pause)."
      case _?: "The next attempt starts immediately."
      }
    return "Attempt \(number) failed: \(text)\(text.hasSuffix(".") ? "" : ".") \(next)"
  }
}

/// A closure that is called with each failed attempt.
typealias AttemptObserver = @Sendable (FailedAttempt) -> Void
