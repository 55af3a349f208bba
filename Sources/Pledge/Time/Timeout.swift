/// The error of a promise that exceeded its time limit.
public struct TimeoutError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The time limit; zero or less for a deadline that had already passed.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var duration: Duration { span.duration }

  /// The time limit in seconds.
  public var seconds: Double { span.inSeconds }

  let span: TimeSpan

  /// A description that states the time limit, or that the deadline had already passed.
  public var description: String {
    span > .zero
      ? "Timed out after \(span)." : "Timed out: the deadline had passed already."
  }

  /// Creates the error for a time limit of `duration`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(duration: Duration) { span = TimeSpan(duration) }

  init(_ span: TimeSpan) { self.span = span }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Thenable {
  /// Returns a promise with the same result that is rejected with ``TimeoutError`` if the result
  /// takes longer than `duration`.
  ///
  /// The time starts with this call. When it has passed, the returned promise is rejected
  /// immediately and stops being a consumer of this promise, which is cancelled if it has no other
  /// consumer. The timer is removed as soon as this promise settles. A duration of zero or less
  /// rejects immediately, unless this promise has already settled.
  ///
  /// - Complexity: O(log *n*), where *n* is the number of pending timers.
  @inlinable
  public func timeout(
    after duration: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise<Value> {
    source.timeout(TimeSpan(duration), TimeSource(clock))
  }

  /// The same as ``deadline(_:clock:)``, on the continuous clock.
  @inlinable
  public func deadline(_ deadline: ContinuousClock.Instant) -> Promise<Value> {
    self.deadline(deadline, clock: ContinuousClock())
  }

  /// Returns a promise with the same result that is rejected with ``TimeoutError`` if this promise
  /// hasn't settled by `deadline` on `clock`; see ``timeout(after:clock:)``.
  @inlinable
  public func deadline<C: Clock<Duration>>(_ deadline: C.Instant, clock: C) -> Promise<Value> {
    timeout(after: clock.now.duration(to: deadline), clock: clock)
  }
}

extension Promise {
  /// - Parameter named: The time limit that the error names; nil for `span`.
  @usableFromInline
  package func timeout(
    _ span: TimeSpan, _ time: TimeSource, naming named: TimeSpan? = nil
  ) -> Promise {
    if !isPending { return self }
    let timer = TimerSlot(named ?? span)
    let result = cell.derive(
      Value.self, [.observer, .contextFree],
      body: ErasedClosure({ timer } as @Sendable () -> TimerSlot)
    ) { handler, source in
      typealias Body = @Sendable () -> TimerSlot
      if source.rejection?.isAbandonment == true {
        guard let timer = handler.body?.copy(as: Body.self)() else { return }
        // The timer rejects the promise later. If it fired while this handler ran, it couldn't.
        if handler.startWaiting(for: Promise<Value>.never.cell), timer.hasFired {
          handler.expire(after: timer.span)
        }
        return
      }
      // The timer is cancelled first, because code that sees the result may rely on that.
      handler.takeBody(as: Body.self)().cancel()
      handler.copyResult(of: source, as: Value.self)
    }
    let handler = unsafeDowncast(result, to: Handler.self)
    // The timer and the handler retain each other until one of the two has run.
    let fail: @Sendable () -> Void = {
      timer.fire()
      handler.expire(after: timer.span)
    }
    if span > .zero {
      timer.set(time.startTimer(after: span, fail))
    } else {
      fail()
    }
    return Promise(cell: result)
  }
}

extension Handler {
  fileprivate final func expire(after span: TimeSpan) {
    let rejection = Rejection(TimeoutError(span), origin: nil)
    // If it's too late, no handler will receive the error.
    if !leave(.expired(rejection)) { rejection.markHandled() }
  }
}

/// The timer of a timeout, which can fire or be cancelled before it's stored here.
private final class TimerSlot: Sendable {
  private enum State {
    case empty
    case holding(AnyObject & Sendable)
    case fired
    case cancelled
  }

  let span: TimeSpan
  private let state = Mutex(State.empty)

  init(_ span: TimeSpan) { self.span = span }

  func set(_ timer: AnyObject & Sendable) {
    state.withLock { if case .empty = $0 { $0 = .holding(timer) } }
  }

  func fire() { end(as: .fired) }

  func cancel() { end(as: .cancelled) }

  var hasFired: Bool {
    state.withLock { if case .fired = $0 { true } else { false } }
  }

  private func end(as last: State) {
    let old = state.withLock { exchange(&$0, with: last) }
    // The timer is released here, outside the lock.
    withExtendedLifetime(old) {}
  }
}
