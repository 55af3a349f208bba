import Dispatch

/// Calls a closure on its own queue at a given time of the continuous clock.
///
/// Dispatch provides uptime, which stops while the system is suspended, and wall time, which can be
/// set back. Therefore, one timer of each kind is armed, and the first to fire calls the closure,
/// which must check the clock: it can be called too early.
///
/// `@unchecked Sendable`: dispatch sources can be used from any thread.
struct WakeUp: @unchecked Sendable {
  private let uptime: any DispatchSourceTimer
  private let wallTime: any DispatchSourceTimer

  init(_ wake: @escaping @Sendable () -> Void) {
    // Not the global queue, all of whose threads could be blocked.
    let queue = DispatchQueue(label: "Pledge.timers", qos: .userInitiated)
    uptime = DispatchSource.makeTimerSource(queue: queue)
    wallTime = DispatchSource.makeTimerSource(queue: queue)
    for source in [uptime, wallTime] {
      source.setEventHandler(handler: wake)
      source.activate()
    }
  }

  /// Rearms the timers to fire after `delay` nanoseconds; a negative delay has already elapsed.
  func arm(afterNanoseconds delay: Int64) {
    // At most a second at a time with 32-bit integers, which can't represent more; otherwise a day.
    let longest = Int.bitWidth < 64 ? 1_000_000_000 : 86_400_000_000_000
    let nanoseconds = min(Int(clamping: max(delay, 0)), longest)
    uptime.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
    wallTime.schedule(
      wallDeadline: .now() + .nanoseconds(nanoseconds), leeway: .microseconds(500))
  }
}
