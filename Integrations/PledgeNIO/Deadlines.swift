#if NIO
  import NIOCore
  import Pledge

  extension Thenable {
    /// Returns a promise with the same result, or one that is rejected with `TimeoutError` if this
    /// promise hasn't settled by `deadline`.
    ///
    /// The remaining time is measured at the call. On timeout, the returned promise is rejected
    /// immediately and stops being a consumer of this promise, which is cancelled if it has no
    /// other consumer. The timer is released as soon as this promise settles. If `loop` shuts down
    /// before, the library's timers take over the rest of the time.
    ///
    /// **Execution.** A timeout with the timers of `loop` cancels on the loop, so closures that
    /// were passed to `onCancel` run there and must not block.
    ///
    /// - Parameters:
    ///   - deadline: The deadline, in the time of `loop`.
    ///   - loop: The event loop whose timers are used, for example one with virtual time in a test;
    ///     nil for the library's timers.
    public func deadline(_ deadline: NIODeadline, on loop: (any EventLoop)? = nil)
      -> Promise<Value>
    {
      timeout(after: deadline - (loop?.now ?? .now()), on: loop)
    }

    /// Returns a promise with the same result, or one that is rejected with `TimeoutError` if this
    /// promise hasn't settled after `amount`.
    ///
    /// The timeout uses the timers of `loop`. See ``deadline(_:on:)``.
    public func timeout(after amount: TimeAmount, on loop: any EventLoop) -> Promise<Value> {
      timeout(after: amount, on: loop as (any EventLoop)?)
    }

    private func timeout(after amount: TimeAmount, on loop: (any EventLoop)?) -> Promise<Value> {
      promise.timeout(
        .nanoseconds(amount.nanoseconds),
        loop.map { TimeSource(LoopTimers(loop: $0)) } ?? .continuous)
    }
  }

  /// The timers of an event loop.
  private struct LoopTimers: OtherClock {
    let loop: any EventLoop

    func startTimer(
      after span: TimeSpan, _ action: @escaping @Sendable () -> Void
    ) -> AnyObject & Sendable {
      _ = BlockingOnLoops.isForbidden
      return Timer(Countdown(.nanoseconds(span.inNanoseconds), on: loop, action))
    }

    func stopwatch() -> @Sendable () -> TimeSpan {
      let start = loop.now
      return { .nanoseconds((loop.now - start).nanoseconds) }
    }

    /// Stops a countdown when this object is deallocated.
    private final class Timer: Sendable {
      private let countdown: Countdown

      init(_ countdown: Countdown) {
        self.countdown = countdown
        countdown.start()
      }

      deinit { countdown.stop() }
    }
  }

  /// Calls a closure when a time has passed: on an event loop or, if that shuts down before, on the
  /// thread of the library's timers.
  private final class Countdown: Sendable {
    private enum State {
      case waiting(action: @Sendable () -> Void, loopCallback: NIOScheduledCallback?)
      case leftLoop(action: @Sendable () -> Void, timer: (AnyObject & Sendable)?)
      case over
    }

    private let loop: any EventLoop
    private let amount: TimeAmount
    private let deadline: NIODeadline
    private let state: Mutex<State>

    init(
      _ amount: TimeAmount, on loop: any EventLoop, _ action: @escaping @Sendable () -> Void
    ) {
      self.loop = loop
      self.amount = amount
      deadline = loop.now + amount
      state = Mutex(.waiting(action: action, loopCallback: nil))
    }

    func start() {
      // A loop that has shut down throws, and releases the handler.
      let callback = try? loop.scheduleCallback(in: amount, handler: LoopCallback(self))
      state.withLock { state in
        if case .waiting(let action, _) = state {
          state = .waiting(action: action, loopCallback: callback)
        }
      }
    }

    func stop() {
      // The action is released after the call, because the loop can hold a lock during the call.
      let old = end()
      if case .waiting(_, let callback?) = old { callback.cancel() }
      withExtendedLifetime(old) {}
    }

    fileprivate func fire() {
      switch end() {
      case .waiting(let action, _), .leftLoop(let action, _): action()
      case .over: break
      }
    }

    private func end() -> State { state.withLock { exchange(&$0, with: .over) } }

    /// Continues with a timer of the library, unless the countdown is over.
    fileprivate func leaveLoop() {
      let isOver = state.withLock { state in
        guard case .waiting(let action, _) = state else { return true }
        state = .leftLoop(action: action, timer: nil)
        return false
      }
      if isOver { return }
      let rest = TimeSpan.nanoseconds((deadline - loop.now).nanoseconds)
      let timer = TimeSource.continuous.start(after: rest) { self.fire() }
      state.withLock { state in
        if case .leftLoop(let action, _) = state {
          state = .leftLoop(action: action, timer: timer)
        }
      }
    }
  }

  /// What a loop keeps until the time has come, the callback is cancelled, or the loop shuts down.
  private final class LoopCallback: NIOScheduledCallbackHandler, Sendable {
    private let countdown: Countdown

    init(_ countdown: Countdown) { self.countdown = countdown }

    func handleScheduledCallback(eventLoop: some EventLoop) { countdown.fire() }

    // Not every loop reports that it shuts down, but each releases its callbacks.
    deinit { countdown.leaveLoop() }
  }
#endif
