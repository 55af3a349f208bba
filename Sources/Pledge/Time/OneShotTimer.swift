/// Calls an action once, on some thread, when its time has come.
///
/// The action must not block. On the continuous clock it runs on the timers' thread.
enum OneShotTimer {
  /// Starts a timer that fires `duration` from now on `clock`.
  ///
  /// - Returns: The timer: release it, and it does not fire any more.
  static func start(
    after duration: Duration, clock: any Clock<Duration>, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    if clock is ContinuousClock {
      return TimerHeap.Timer(
        deadline: .now.advanced(by: min(duration, longest)), action: action)
    }
    return start(after: duration, on: clock, action)
  }

  /// A thousand years: more would overflow where durations are added up.
  static let longest = Duration.seconds(31_536_000_000)

  private static func start<C: Clock<Duration>>(
    after duration: Duration, on clock: C, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    // The time starts now, and not when the task does.
    let deadline = clock.now.advanced(by: min(duration, longest))
    if let clock = clock as? any CallbackClock<C.Instant> {
      return clock.schedule(at: deadline, action)
    }
    return Sleeper(
      // Detached, so that the handlers of other pieces of work that it runs see none of this one's
      // task-local values.
      task: Task.detached(priority: Task.currentPriority) {
        // Only a cancelled sleep throws, and then nobody wants to be called.
        guard (try? await clock.sleep(until: deadline, tolerance: nil)) != nil else { return }
        action()
      })
  }

  /// A task that sleeps, and is cancelled with this object.
  private final class Sleeper: Sendable {
    let task: Task<Void, Never>
    init(task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }
}

/// A clock that calls a closure when its time has come, without a task that sleeps.
package protocol CallbackClock<Instant>: Clock {
  /// Has `action` called once, when the clock comes to `deadline`.
  ///
  /// - Returns: An object; release it, and `action` is not called any more.
  func schedule(
    at deadline: Instant, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable
}
