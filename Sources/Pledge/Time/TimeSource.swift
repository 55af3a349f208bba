/// The clock that an operator uses: the continuous clock, or another one.
@usableFromInline
package struct TimeSource: Sendable {
  /// The other clock; nil for the continuous clock.
  private let other: (any OtherClock)?

  private init(_ other: (any OtherClock)?) { self.other = other }

  @usableFromInline
  package static var continuous: TimeSource { TimeSource(nil) }

  /// Creates a time source that uses the timers of another library.
  package init(_ timers: some OtherClock) { other = timers }

  /// Starts a timer that calls `action` once, on any thread, when `span` has passed.
  ///
  /// `action` must not block. With the continuous clock, it runs on the timers' thread.
  ///
  /// - Returns: The timer, which doesn't fire after it's released.
  func startTimer(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    if Monitoring.timers.areMissing { return start(after: span, action) }
    return MonitoredTimer({ start(after: span, $0) }, action)
  }

  /// Starts a timer that monitors don't count; see `startTimer(after:_:)`.
  package func start(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    let span = min(max(span, .zero), Self.longest)
    if let other { return other.startTimer(after: span, action) }
    return TimerHeap.Timer(deadline: SystemClock.now + span.inNanoseconds, action: action)
  }

  /// Returns a function that returns the time that has passed since this call.
  func stopwatch() -> @Sendable () -> TimeSpan {
    if let other { return other.stopwatch() }
    let start = SystemClock.now
    return { .nanoseconds(SystemClock.now - start) }
  }

  /// A hundred years; more could overflow a clock whose instants are 64-bit nanoseconds, such as
  /// the system's.
  private static let longest = TimeSpan.seconds(3_153_600_000)
}

/// A clock other than the continuous one: a `Clock`, which requires macOS 13 or iOS 16, or the
/// timers of another library.
package protocol OtherClock: Sendable {
  /// Starts a timer that calls `action` once when `span` has passed, unless the returned timer has
  /// been released by then.
  func startTimer(
    after span: TimeSpan, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable
  /// Returns a function that returns the time that has passed since this call.
  func stopwatch() -> @Sendable () -> TimeSpan
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension TimeSource {
  @usableFromInline
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
    // The time starts now, not when the task starts.
    let deadline = clock.now.advanced(by: span.duration)
    if let clock = clock as? any CallbackClock<C.Instant> {
      return clock.schedule(at: deadline, action)
    }
    return Sleeper(
      // Detached, so that handlers that run in this task don't see the caller's task-local values.
      task: Task.detached(priority: Task.currentPriority) { [clock] in
        do {
          try await clock.sleep(until: deadline, tolerance: nil)
        } catch {
          // If the clock failed, the operator would wait forever. If the timer was released, this
          // sleep also throws.
          let rest = clock.now.duration(to: deadline)
          guard (try? await Task.sleep(for: rest)) != nil else { return }
        }
        action()
      })
  }

  func stopwatch() -> @Sendable () -> TimeSpan {
    let start = clock.now
    return { [clock] in TimeSpan(start.duration(to: clock.now)) }
  }

  /// A sleeping task, which is cancelled when this object is deallocated.
  private final class Sleeper: Sendable {
    let task: Task<Void, Never>
    init(task: Task<Void, Never>) { self.task = task }
    deinit { task.cancel() }
  }
}

/// A clock that calls a closure at a deadline, without a sleeping task.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
package protocol CallbackClock<Instant>: Clock {
  /// Calls `action` once, when the clock reaches `deadline`.
  ///
  /// - Returns: An object that cancels the call when it's released.
  func schedule(
    at deadline: Instant, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable
}
