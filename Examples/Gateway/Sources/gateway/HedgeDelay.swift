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

  /// Records how long a call took.
  func note(_ latency: Duration) { delay.withLock { adapt(&$0, isTooShort: latency > $0) } }

  /// Records that a call is made again; its latency remains unknown.
  func noteHedge() { delay.withLock { adapt(&$0, isTooShort: true) } }

  /// Changes the delay, so that it is constant on average if it is too short for one call in 25.
  private func adapt(_ delay: inout Duration, isTooShort: Bool) {
    delay = isTooShort ? delay * 1.024 : max(minimum, delay * 0.999)
  }
}
