/// An event of a timer.
package enum TimerEvent: Sendable {
  case started
  case fired
  /// The timer was released: it has fired, or is no longer needed.
  case ended
}

extension Monitoring {
  /// The monitors of all timers.
  package static let timers = Monitors<TimerEvent>()
}

/// A timer that reports its events to the monitors.
final class MonitoredTimer: Sendable {
  private let timer: AnyObject & Sendable

  init(
    _ start: (@escaping @Sendable () -> Void) -> AnyObject & Sendable,
    _ action: @escaping @Sendable () -> Void
  ) {
    Monitoring.timers.note(.started)
    timer = start {
      Monitoring.timers.note(.fired)
      action()
    }
  }

  deinit { Monitoring.timers.note(.ended) }
}
