import Dispatch

/// Calls a closure on its own queue at a moment of the continuous clock.
///
/// Dispatch counts uptime, which stops while the system is suspended, and wall time, which can be
/// set back. Therefore, two timers are armed, one of each kind, and the first to fire calls the
/// closure, which must check the clock: it can be called too early.
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

  /// Replaces the moment by one that is a number of nanoseconds away; a negative delay has passed.
  func arm(afterNanoseconds delay: Int64) {
    // A second at a time where an integer of 32 bits holds no more; a day elsewhere.
    let longest = Int.bitWidth < 64 ? 1_000_000_000 : 86_400_000_000_000
    let nanoseconds = min(Int(clamping: max(delay, 0)), longest)
    uptime.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
    wallTime.schedule(
      wallDeadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
  }
}
