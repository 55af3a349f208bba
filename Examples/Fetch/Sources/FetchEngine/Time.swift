import Pledge

/// The clock of a download, which a simulation can replace.
public struct Time: Sendable {
  /// Returns the time that has passed since a fixed moment.
  public var now: @Sendable () -> Duration
  /// Returns a promise that is fulfilled after a delay.
  public var after: @Sendable (Duration) -> Promise<Void>

  /// Creates a clock.
  public init(
    now: @escaping @Sendable () -> Duration,
    after: @escaping @Sendable (Duration) -> Promise<Void>
  ) {
    self.now = now
    self.after = after
  }

  /// A clock that uses `ContinuousClock` and real delays.
  public static let real = {
    let start = ContinuousClock.now
    return Time(now: { .now - start }, after: { .after($0) })
  }()
}

/// The error of a connection that received no data for too long.
public struct Stalled: Error, CustomStringConvertible {
  /// The time limit without data.
  public let duration: Duration
  /// A message with the duration, in seconds.
  public var description: String { "no data received for \(duration / .seconds(1)) s" }
}

/// The error of a connection that is much slower than other mirrors.
public struct TooSlow: Error, CustomStringConvertible {
  /// A message for the user.
  public var description: String { "much slower than the other mirrors" }
}
