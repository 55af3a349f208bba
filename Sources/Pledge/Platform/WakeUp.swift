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

  /// Replaces the moment by one that is so many nanoseconds away; a negative delay is over.
  func arm(afterNanoseconds delay: Int64) {
    // A second at a time where an integer of 32 bits holds no more; a day elsewhere.
    let longest = Int.bitWidth < 64 ? 1_000_000_000 : 86_400_000_000_000
    let nanoseconds = min(Int(clamping: max(delay, 0)), longest)
    uptime.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
    wallTime.schedule(
      wallDeadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
  }
}
