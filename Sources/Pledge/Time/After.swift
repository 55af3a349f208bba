extension Guarantee where Value == Void {
  /// Makes a guarantee that is fulfilled after `duration`.
  ///
  /// A duration of zero or less counts as over. The timer is released at once when all that came
  /// of the guarantee is cancelled.
  public static func after(_ duration: Duration) -> Guarantee<Void> {
    guard duration > .zero else { return .value(()) }
    let (guarantee, resolver) = Guarantee.withResolvers()
    let timer = TimerHeap.Timer(deadline: .now.advanced(by: duration)) { resolver.fulfill() }
    resolver.onCancel { [weak timer] in timer?.cancel() }
    TimerHeap.shared.add(timer)
    return guarantee
  }

  /// Makes a guarantee that is fulfilled after `duration` on `clock`.
  ///
  /// Use it with a test clock; the sleeping task is cancelled when all that came of the guarantee
  /// is cancelled.
  public static func after(
    _ duration: Duration, clock: any Clock<Duration>
  ) -> Guarantee<Void> {
    if clock is ContinuousClock { return after(duration) }
    guard duration > .zero else { return .value(()) }
    return sleep(duration, on: clock)
  }

  private static func sleep<C: Clock>(_ duration: Duration, on clock: C) -> Guarantee<Void>
  where C.Duration == Duration {
    // The time starts now, and not when the task does.
    let deadline = clock.now.advanced(by: duration)
    return Guarantee(cell: Promise { try await clock.sleep(until: deadline, tolerance: nil) }.cell)
  }
}

extension Promise where Value == Void {
  /// Makes a promise that is fulfilled after `duration`.
  ///
  /// See ``Guarantee/after(_:clock:)``.
  public static func after(
    _ duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise<Void> {
    Guarantee.after(duration, clock: clock).promise
  }
}

extension Promise {
  /// Passes the value on after `duration`; an error passes at once.
  ///
  /// The time starts when this promise is fulfilled. Cancelling releases the timer at once.
  public func delay(
    _ duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise {
    chained(_HandlerTarget(immediate: ())) { value in
      Promise<Void>.after(duration, clock: clock).mapped(_HandlerTarget(immediate: ())) { value }
    }
  }
}

/// The error of a promise that took longer than it was given.
public struct TimeoutError: Error, Sendable, Hashable, CustomStringConvertible {
  /// How long was waited.
  public let duration: Duration

  /// Says how long was waited.
  public var description: String { "Timed out after \(duration)." }

  /// Makes the error of a wait of `duration`.
  public init(duration: Duration) { self.duration = duration }
}

extension Promise {
  /// Returns a promise with the same outcome that is rejected with ``TimeoutError`` if that takes
  /// longer than `duration`.
  ///
  /// The time starts at the call. On time-out the result is rejected at once and withdraws from
  /// this promise, which is cancelled if nobody else waits for it. The timer is released as soon as
  /// this promise settles. A duration of zero or less rejects at once, unless this promise has
  /// settled already.
  public func timeout(
    after duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise {
    if !isPending { return self }
    let timer = Promise<Void>.after(duration, clock: clock).chained(
      _HandlerTarget(immediate: ())
    ) { _ in Promise.rejected(TimeoutError(duration: duration)) }
    return Promise.race([self, timer])
  }

  /// Returns a promise with the same outcome that is rejected with ``TimeoutError`` if it has not
  /// settled by `deadline`.
  public func deadline(_ deadline: ContinuousClock.Instant) -> Promise {
    timeout(after: ContinuousClock.now.duration(to: deadline))
  }
}
