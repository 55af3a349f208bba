import Dispatch

/// Calls a closure on a queue of its own when a moment of the continuous clock has come.
///
/// Dispatch counts uptime, which stands still while the system is suspended, and wall time, which
/// can be set back. So two timers are armed, one of each kind, and whichever comes first wakes. The
/// closure has to look at the clock: it can be called too early.
///
/// `@unchecked Sendable`: dispatch sources may be used from any thread.
struct WakeUp: @unchecked Sendable {
  private let uptime: any DispatchSourceTimer
  private let wallTime: any DispatchSourceTimer

  init(_ wake: @escaping @Sendable () -> Void) {
    // Not the global queue, whose threads may all be blocked.
    let queue = DispatchQueue(label: "Pledge.timers", qos: .userInitiated)
    uptime = DispatchSource.makeTimerSource(queue: queue)
    wallTime = DispatchSource.makeTimerSource(queue: queue)
    for source in [uptime, wallTime] {
      source.setEventHandler(handler: wake)
      source.activate()
    }
  }

  /// Replaces the moment by one that is `delay` away; a negative delay is over.
  func arm(after delay: Duration) {
    let (seconds, attoseconds) = max(.zero, delay).components
    // A dispatch timer takes nanoseconds in 64 bits, 292 years: a year at a time is enough.
    let nanoseconds = Int(
      min(seconds, 31_536_000) * 1_000_000_000 + attoseconds / 1_000_000_000 + 1)
    uptime.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
    wallTime.schedule(
      wallDeadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
  }
}
