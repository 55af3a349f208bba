import Synchronization

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
  ///
  /// - Complexity: O(log of the number of pending timers).
  public func timeout(
    after duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise {
    if !isPending { return self }
    let alarm = AlarmBox()
    let result = cell.derive(
      Value.self, wants: 0, target: _HandlerTarget(immediate: ()),
      body: ErasedClosure({ alarm.letGo() } as @Sendable () -> Void)
    ) { handler, source in
      // The timer first: whoever sees the outcome may rely on its being gone.
      handler.takeBody(as: (@Sendable () -> Void).self)()
      handler.copy(from: source, as: Value.self)
    }
    let handler = unsafeDowncast(result, to: Handler.self)
    // The alarm holds the handler and the handler the alarm, until one of the two has run.
    let fail: @Sendable () -> Void = {
      let rejection = Rejection(TimeoutError(duration: duration), origin: nil)
      handler.withdraw(finding: Root<Value?>(rejection: rejection))
    }
    if duration > .zero {
      alarm.keep(Alarm.set(after: duration, clock: clock, fail))
    } else {
      fail()
    }
    return Promise(cell: result)
  }

  /// Returns a promise with the same outcome that is rejected with ``TimeoutError`` if it has not
  /// settled by `deadline`.
  ///
  /// See ``timeout(after:clock:)``.
  public func deadline(_ deadline: ContinuousClock.Instant) -> Promise {
    self.deadline(deadline, clock: ContinuousClock())
  }

  /// Returns a promise with the same outcome that is rejected with ``TimeoutError`` if it has not
  /// settled by `deadline` on `clock`.
  ///
  /// See ``timeout(after:clock:)``.
  public func deadline<C: Clock<Duration>>(_ deadline: C.Instant, clock: C) -> Promise {
    timeout(after: clock.now.duration(to: deadline), clock: clock)
  }
}

extension Guarantee {
  /// Returns a promise of the value that is rejected with ``TimeoutError`` if it takes longer than
  /// `duration`.
  ///
  /// See ``Promise/timeout(after:clock:)``.
  public func timeout(
    after duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise<Value> {
    promise.timeout(after: duration, clock: clock)
  }
}

/// The alarm of a timeout, which may have to be let go of before it is there.
private final class AlarmBox: Sendable {
  private enum State {
    case empty
    case holding(AnyObject & Sendable)
    case done
  }

  private let state = Mutex(State.empty)

  func keep(_ alarm: AnyObject & Sendable) {
    state.withLock { if case .empty = $0 { $0 = .holding(alarm) } }
  }

  func letGo() {
    let old = state.withLock { exchange(&$0, with: .done) }
    // The alarm goes here, outside the lock.
    withExtendedLifetime(old) {}
  }
}
