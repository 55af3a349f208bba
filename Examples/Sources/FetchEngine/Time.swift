import Pledge

/// The clock of a download, which a simulation moves by itself.
public struct Time: Sendable {
  /// The time that has passed since some moment.
  public var now: @Sendable () -> Duration
  /// A promise that is fulfilled after a while.
  public var after: @Sendable (Duration) -> Promise<Void>

  /// Creates a clock.
  public init(
    now: @escaping @Sendable () -> Duration,
    after: @escaping @Sendable (Duration) -> Promise<Void>
  ) {
    self.now = now
    self.after = after
  }

  /// The real time.
  public static let real = {
    let start = ContinuousClock.now
    return Time(now: { .now - start }, after: { .after($0) })
  }()
}

/// Nothing has arrived for too long.
public struct Stalled: Error, CustomStringConvertible {
  /// How long.
  public let duration: Duration
  /// The duration in words.
  public var description: String { "nothing arrived for \(duration / .seconds(1)) s" }
}

/// Other mirrors are much faster.
public struct TooSlow: Error, CustomStringConvertible {
  /// What to say of it.
  public var description: String { "much slower than the other mirrors" }
}
