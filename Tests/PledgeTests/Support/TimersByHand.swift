/// A clock that stands still, and whose timers fire when the test says so, inside the call.
///
/// It can run an action when its time is read.
final class TimersByHand: CallbackClock {
  private let actions = Mutex<[@Sendable () -> Void]>([])
  private let interruption = Mutex<[@Sendable () -> Void]>([])
  private let instant = ContinuousClock().now

  var now: ContinuousClock.Instant {
    interruption.withLock { exchange(&$0, with: []) }.first?()
    return instant
  }

  var minimumResolution: Duration { .nanoseconds(1) }

  /// Runs `action` the next time that the time is read.
  func interrupt(with action: @escaping @Sendable () -> Void) {
    interruption.withLock { $0 = [action] }
  }

  /// Takes the actions of all timers out of the clock, whether or not they were cancelled.
  func takeActions() -> [@Sendable () -> Void] { actions.withLock { exchange(&$0, with: []) } }

  func schedule(
    at deadline: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    actions.withLock { $0.append(action) }
    return Box(())
  }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    throw CancellationError()
  }
}
