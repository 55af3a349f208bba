import Pledge

/// The clock of a download, which a simulation can replace.
struct Time: Sendable {
  /// Returns the time that has passed since a fixed moment.
  var now: @Sendable () -> Duration
  /// Returns a promise that is fulfilled after a delay.
  var after: @Sendable (Duration) -> Promise<Void>

  /// A clock that uses `ContinuousClock` and real delays.
  static let real = {
    let start = ContinuousClock.now
    return Time(now: { .now - start }, after: { .after($0) })
  }()
}
