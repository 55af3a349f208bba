/// Calls an action once, on some thread, when its time has come.
enum Alarm {
  /// Sets an alarm that goes off `duration` from now on `clock`.
  ///
  /// - Returns: The alarm: let go of it, and it does not go off any more.
  static func set(
    after duration: Duration, clock: any Clock<Duration>, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    if clock is ContinuousClock {
      return TimerHeap.Timer(deadline: .now.advanced(by: duration), action: action)
    }
    return set(after: duration, on: clock, action)
  }

  private static func set<C: Clock<Duration>>(
    after duration: Duration, on clock: C, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    // The time starts now, and not when the task does.
    let deadline = clock.now.advanced(by: duration)
    return Sleeper(
      task: Task {
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
