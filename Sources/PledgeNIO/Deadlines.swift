#if NIO
  import NIOCore
  import Pledge

  extension Thenable {
    /// Returns a promise with the same result, or one that is rejected with `TimeoutError` if this
    /// promise hasn't settled by `deadline`.
    ///
    /// The remaining time is measured at the call. On timeout, the returned promise is rejected
    /// immediately and stops being a consumer of this promise, which is cancelled if it has no
    /// other consumer. The timer is released as soon as this promise settles.
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
      Timer(loop.scheduleTask(in: .nanoseconds(span.inNanoseconds), action))
    }

    func stopwatch() -> @Sendable () -> TimeSpan {
      let start = loop.now
      return { .nanoseconds((loop.now - start).nanoseconds) }
    }

    /// Cancels a task when this object is deallocated.
    private final class Timer: Sendable {
      let task: Scheduled<Void>
      init(_ task: Scheduled<Void>) { self.task = task }
      deinit { task.cancel() }
    }
  }
#endif
