import Synchronization

/// The delay after which a call is made again: the time within which all but 4 % of the calls end.
///
/// A fixed delay is too short for a busy machine: calls that are only slow would use up the budget for
/// hedges, and none would be left for calls that stall. The budget permits hedges of 5 % of the calls.
final class HedgeDelay: Sendable {
  private let minimum: Duration
  private let delay: Mutex<Duration>

  init(minimum: Duration) {
    self.minimum = minimum
    delay = Mutex(minimum)
  }

  var current: Duration { delay.withLock { $0 } }

  /// Records how long a call took, once for each call: from its start to the first response, be it to
  /// the call or to its hedge.
  func note(_ latency: Duration) {
    // Constant on average if the delay is too short for one call in 25.
    delay.withLock { $0 = latency > $0 ? $0 * 1.024 : max(minimum, $0 * 0.999) }
  }
}
