@_spi(DropIns) import Pledge

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension TestClock {
  /// Advances the time by `duration`, and wakes the sleepers whose deadlines pass, in the order of
  /// their deadlines.
  ///
  /// Time passes only when nothing that the code under test has started can still run, so a delay
  /// in a handler, or the next attempt of a retry, starts at the right time, and is part of the
  /// same advance if it ends in it. When this method returns, the last of that work has ended, too.
  /// The clock follows the handlers and tasks of code that has used the clock, and everything that
  /// these start, on Dispatch queues, actors, and the main actor. It can't follow work that doesn't
  /// go through the library or Swift's concurrency, such as `DispatchQueue.async`, a real timer, or
  /// a connection: pass a promise for such work to ``follow(_:)``.
  ///
  /// If a handler or task blocks its thread for a second, a task does nothing but yield for five, or
  /// work doesn't start for five, the time passes nevertheless. Concurrent calls run one after
  /// another, and their durations add up.
  ///
  /// If the calling task is cancelled, no more sleepers are woken and the time doesn't advance. After
  /// ten seconds of waiting for work, standard error says so.
  ///
  /// - Complexity: O(n log n) for n sleepers that are woken.
  public func advance(by duration: Duration) async {
    await drive { $0.now.advanced(by: duration) }
  }

  /// Advances the time to `instant`, in the same way as ``advance(by:)``.
  ///
  /// If the instant has passed, this method does nothing.
  public func advance(to instant: Instant) async {
    await drive { _ in instant }
  }

  /// Advances the time until there are no sleepers, in the same way as ``advance(by:)``.
  ///
  /// It doesn't return while a task repeatedly goes back to sleep, unless the calling task is
  /// cancelled.
  public func run() async {
    await drive { _ in nil }
  }

  /// Advances the time from one sleeper to the next until `promise` has settled.
  ///
  /// If there is no sleeper, it waits until work in progress settles the promise or starts a sleep.
  ///
  /// It returns with the promise pending only if the calling task is cancelled.
  public func run(until promise: Promise<some Sendable>) async {
    // `tap` doesn't handle an error.
    _ = promise.tap(on: .immediate) { [changes] _ in changes.tell() }
    while promise.isPending, !Task.isCancelled {
      await wait(for: "a sleeper or a result") { $0 > 0 || !promise.isPending }
      await drive { clock in
        promise.isPending ? clock.nextDeadline ?? clock.now : clock.now
      }
    }
  }

  /// The same as for a promise, until `guarantee` is fulfilled.
  public func run(until guarantee: Guarantee<some Sendable>) async {
    await run(until: guarantee.promise)
  }

  /// Waits until there are at least `count` sleepers, or the calling task is cancelled.
  ///
  /// A sleeper is a task that sleeps or a pending timer of an operator. Operators such as `timeout`
  /// start their timers inside the call, but a task that you start sleeps some time later. Wait for
  /// it before you advance the clock. After ten seconds, standard error says what this waits for.
  public func sleepers(atLeast count: Int) async {
    await wait(for: "at least \(count) sleepers") { $0 >= count }
  }

  /// Waits until there are no sleepers, or the calling task is cancelled.
  ///
  /// Everything that uses this clock counts, such as another object of the same test. After ten
  /// seconds, standard error says how many sleepers there are.
  public func noSleepers() async {
    await wait(for: "no sleepers") { $0 == 0 }
  }

  private func wait(
    for condition: String, until isDue: @escaping @Sendable (_ sleeperCount: Int) -> Bool
  ) async {
    let notice = Task { [weak self] in
      try await Task.sleep(for: .seconds(10))
      self?.writeNotice(condition)
    }
    await changes.wait { isDue(self.sleeperCount) }
    notice.cancel()
  }

  /// Says what a call has been waiting for.
  private func writeNotice(_ condition: String) {
    let next = nextDeadline.map { ", the next of which ends at \($0.offset)" } ?? ""
    let followed = counted(work.followedCount, "followed promise")
    StandardError.write(
      "A TestClock waits for \(condition): it has \(counted(sleeperCount, "sleeper"))\(next), and "
        + "\(followed); now is \(now.offset).\n")
  }

  /// Returns a promise with the result of `promise`, and lets no time pass until it has settled.
  ///
  /// Use it for work that the clock can't follow, such as a request to a real server:
  ///
  /// ```swift
  /// let answer = clock.follow(session.load(url)).timeout(after: .seconds(10), clock: clock)
  /// await clock.advance(by: .seconds(20))
  /// ```
  ///
  /// **Cancellation.** Cancelling the result cancels `promise` if it has no other consumer.
  public func follow<T: Sendable>(_ promise: Promise<T>) -> Promise<T> {
    let (result, resolver) = Promise<T>.withResolvers()
    let waiting = promise.tap(on: .immediate) { [work, followed = work.follow()] outcome in
      withExtendedLifetime(followed) {
        Following.run(as: [work]) { resolver.resolve(outcome) }
      }
    }
    waiting.ignoreErrors()
    resolver.onCancel { waiting.cancel() }
    return result
  }

  /// Waits until no followed work is running, in the same way as between two sleepers.
  public func settle() async { await drive { $0.now } }

  /// Waits until no followed work is running, and then advances the time to `end`, which is called
  /// at that moment, on the clock's queue after earlier calls; nil is the last sleeper's end.
  ///
  /// It ends early if the calling task is cancelled.
  private func drive(to end: @escaping @Sendable (TestClock) -> Instant?) async {
    Following.join(work)
    let isCancelled = Mutex(false)
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        driver.async {
          self.pass(to: end) { isCancelled.withLock { $0 } }
          Following.run(as: [self.work]) { continuation.resume() }
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  private func pass(to end: (TestClock) -> Instant?, _ isCancelled: () -> Bool) {
    func waitUntilIdle() {
      work.waitUntilIdle { rounds in
        if rounds == 100 { writeNotice("work in progress") }
        return !isCancelled()
      }
    }
    waitUntilIdle()
    let end = end(self)
    while !isCancelled() {
      if wakeNext(by: end) {
        waitUntilIdle()
        continue
      }
      if let end { setTime(to: end) }
      return
    }
  }
}
