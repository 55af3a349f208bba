/// What tells an operator the time: the continuous clock, or another one.
package struct TimeSource: Sendable {
  /// Nil for the continuous clock.
  private let other: (any OtherClock)?

  private init(_ other: (any OtherClock)?) { self.other = other }

  package static var continuous: TimeSource { TimeSource(nil) }

  /// The timers of another library.
  package init(_ timers: some OtherClock) { other = timers }

  /// Starts a timer that fires when `span` has passed: calls `action` once, on some thread.
  ///
  /// `action` must not block. On the continuous clock it runs on the timers' thread.
  ///
  /// - Returns: The timer. When it is released, it no longer fires.
  func startTimer(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    if Monitoring.policies.areMissing { return start(after: span, action) }
    return MonitoredTimer({ start(after: span, $0) }, action)
  }

  private func start(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    if let other { return other.startTimer(after: min(span, Self.longest), action) }
    let (deadline, isTooFar) = SystemClock.now.addingReportingOverflow(span.inNanoseconds)
    return TimerHeap.Timer(deadline: isTooFar ? .max : deadline, action: action)
  }

  /// A function that tells how much time has passed since now.
  func stopwatch() -> @Sendable () -> TimeSpan {
    if let other { return other.stopwatch() }
    let start = SystemClock.now
    return { .nanoseconds(SystemClock.now - start) }
  }

  /// A hundred years: more overflows in a clock whose moments are 64-bit nanoseconds.
  private static let longest = TimeSpan.seconds(3_153_600_000)
}

/// A clock other than the continuous one: a `Clock`, which needs macOS 13 and iOS 16, or the timers of
/// another library.
package protocol OtherClock: Sendable {
  /// Starts a timer that calls `action` once when `span` has passed, and not once the timer that is
  /// returned has been released.
  func startTimer(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable
  /// A function that tells how much time has passed since now.
  func stopwatch() -> @Sendable () -> TimeSpan
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension TimeSource {
  init(_ clock: any Clock<Duration>) {
    self.init(clock is ContinuousClock ? nil : Self.adapter(clock))
  }

  private static func adapter<C: Clock<Duration>>(_ clock: C) -> any OtherClock {
    ClockAdapter(clock: clock)
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private struct ClockAdapter<C: Clock<Duration>>: OtherClock {
  let clock: C

  func startTimer(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    // The time starts now, and not when the task does.
    let deadline = clock.now.advanced(by: span.duration)
    if let clock = clock as? any CallbackClock<C.Instant> {
      return clock.schedule(at: deadline, action)
    }
    return Sleeper(
      // Detached, so that the handlers of other pieces of work that it runs see none of this one's
      // task-local values.
      task: Task.detached(priority: Task.currentPriority) { [clock] in
        // Only a cancelled sleep throws, and then nothing must be called.
        guard (try? await clock.sleep(until: deadline, tolerance: nil)) != nil else { return }
        action()
      })
  }

  func stopwatch() -> @Sendable () -> TimeSpan {
    let start = clock.now
    return { [clock] in TimeSpan(start.duration(to: clock.now)) }
  }

  /// A task that sleeps, and is cancelled with this object.
  private final class Sleeper: Sendable {
    let task: Task<Void, Never>
    init(task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }
}

/// A clock that calls a closure when its time has come, without a task that sleeps.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
package protocol CallbackClock<Instant>: Clock {
  /// Has `action` called once, when the clock comes to `deadline`.
  ///
  /// - Returns: An object. When it is released, `action` is no longer called.
  func schedule(
    at deadline: Instant, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable
}
