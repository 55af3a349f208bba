import Pledge

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension TestClock {
  /// Advances the time by `duration`, and wakes the sleepers whose deadlines pass, in the order of
  /// their deadlines.
  ///
  /// While a sleeper's task runs, the clock's time is that sleeper's deadline. The next sleeper is
  /// woken when the task is idle, that is, when it has ended or waits for something else; if it
  /// sleeps again, its new sleep is part of the same advance. This method returns when the last
  /// task is idle. By then, a promise that `timeout` or `after` settles is settled, and its
  /// handlers on `.immediate` have run. Handlers on other executors, and tasks that are isolated to
  /// an actor or prefer another executor, continue independently, so wait for their results.
  ///
  /// Woken tasks run on a thread of the clock and must not block it. Concurrent calls run one after
  /// another, and their durations add up.
  ///
  /// If the calling task is cancelled, no more sleepers are woken and the time doesn't advance.
  ///
  /// - Complexity: O(n log n) for n sleepers that are woken.
  public func advance(by duration: Duration) async {
    await drive { clock, isCancelled in
      clock.pass(to: clock.now.advanced(by: duration), isCancelled)
    }
  }

  /// Advances the time to `instant`, in the same way as ``advance(by:)``.
  ///
  /// If the instant has passed, this method does nothing.
  public func advance(to instant: Instant) async {
    await drive { clock, isCancelled in clock.pass(to: instant, isCancelled) }
  }

  /// Advances the time until there are no sleepers, in the same way as ``advance(by:)``.
  ///
  /// It doesn't return while a task repeatedly goes back to sleep, unless the calling task is
  /// cancelled.
  public func run() async {
    await drive { clock, isCancelled in
      while !isCancelled(), clock.wakeNext(by: nil) {}
    }
  }

  /// Advances the time from one sleeper to the next until `promise` has settled.
  ///
  /// If there is no sleeper, it waits until work in progress settles the promise or starts a sleep,
  /// and continues as soon as there is one sleeper. If two timers sleep at the same time, such as a
  /// deadline and the delay between two attempts, wait for both with ``sleepers(atLeast:)`` and
  /// advance the clock yourself.
  ///
  /// It returns with the promise pending only if the calling task is cancelled.
  public func run(until promise: Promise<some Sendable>) async {
    // `tap` doesn't handle an error.
    _ = promise.tap(on: .immediate) { [weak self] _ in self?.recheckWaiters() }
    while promise.isPending, !Task.isCancelled {
      await wait { sleeperCount in sleeperCount > 0 || !promise.isPending }
      guard promise.isPending, !Task.isCancelled else { return }
      if let next = nextDeadline { await advance(to: next) }
    }
  }

  /// Advances the time from one sleeper to the next until `guarantee` is fulfilled.
  ///
  /// This is the same as for a promise.
  public func run(until guarantee: Guarantee<some Sendable>) async {
    await run(until: guarantee.promise)
  }

  /// Waits until there are at least `count` sleepers, or the calling task is cancelled.
  ///
  /// A sleeper is a task that sleeps or a pending timer of an operator. Operators such as `timeout`
  /// start their timers inside the call, but a task that you start sleeps some time later. Wait for
  /// it before you advance the clock.
  public func sleepers(atLeast count: Int) async {
    await wait { $0 >= count }
  }

  /// Waits until there are no sleepers, or the calling task is cancelled.
  public func noSleepers() async {
    await wait { $0 == 0 }
  }

  /// Waits until there are at least `count` sleepers or, if `count` is 0, no sleepers.
  ///
  /// This is the same as ``sleepers(atLeast:)``, or ``noSleepers()`` for 0. It also returns if the
  /// calling task is cancelled.
  public func sleepers(reach count: Int) async {
    if count > 0 { await sleepers(atLeast: count) } else { await noSleepers() }
  }

  /// Runs `body` on the clock's queue, after earlier calls.
  ///
  /// `isCancelled` returns whether the calling task was cancelled.
  private func drive(
    _ body: @escaping @Sendable (TestClock, _ isCancelled: () -> Bool) -> Void
  ) async {
    let isCancelled = Mutex(false)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        driver.async {
          body(self) { isCancelled.withLock { $0 } }
          continuation.resume()
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  private func pass(to instant: Instant, _ isCancelled: () -> Bool) {
    while !isCancelled() {
      if wakeNext(by: instant) { continue }
      setTime(to: instant)
      return
    }
  }
}
