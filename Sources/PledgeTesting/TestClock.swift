import Pledge

/// A clock whose time passes when the test says so: an hour takes no time.
///
/// Pass it wherever the library takes a clock.
///
/// ```swift
/// let clock = TestClock()
/// let promise = slow.timeout(after: .seconds(3600), clock: clock)
/// await clock.sleepers(reach: 1)
/// await clock.advance(by: .seconds(3600))
/// await #expect(throws: TimeoutError.self) { try await promise.value }
/// ```
public final class TestClock: Clock, Sendable {
  /// A moment, as the time since the clock was made.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    public let offset: Duration

    /// Makes the moment at `offset` from the clock's beginning.
    public init(offset: Duration) { self.offset = offset }

    /// The moment `duration` later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    /// How long it is from this moment to `other`.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    /// Whether one moment comes before another.
    public static func < (first: Instant, second: Instant) -> Bool {
      first.offset < second.offset
    }
  }

  private enum Phase {
    case awake
    case asleep(CheckedContinuation<Void, any Error>)
    case cancelled
    case over
  }

  /// One call of `sleep`.
  ///
  /// `@unchecked Sendable`: `phase` is guarded by the clock's mutex.
  private final class Sleeper: @unchecked Sendable {
    let deadline: Instant
    var phase = Phase.awake
    let woken = Guarantee<Void>.withResolvers()

    init(deadline: Instant) { self.deadline = deadline }
  }

  private struct State {
    var now = Instant(offset: .zero)
    /// In the order of their deadlines, and among equal ones in the order in which they came.
    var sleepers: [Sleeper] = []
    var watchers: [(count: (Int) -> Bool, resolver: GuaranteeResolver<Void>)] = []

    /// Takes out the watchers that have waited for the present number of sleepers.
    mutating func dueWatchers() -> [GuaranteeResolver<Void>] {
      let count = sleepers.count
      let due = watchers.filter { $0.count(count) }.map(\.resolver)
      watchers.removeAll { $0.count(count) }
      return due
    }
  }

  private let state = Mutex(State())

  /// Makes a clock at its beginning.
  public init() {}

  /// The present moment.
  public var now: Instant { state.withLock { $0.now } }

  /// The smallest step: there is none.
  public var minimumResolution: Duration { .zero }

  /// How many sleeps are under way.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Suspends the task until the clock has been advanced to `deadline`.
  ///
  /// Cancelling the task ends the sleep at once with `CancellationError`.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let sleeper = Sleeper(deadline: deadline)
    defer { sleeper.woken.resolver.fulfill() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enter(sleeper, continuation)
      }
    } onCancel: {
      cancel(sleeper)
    }
  }

  private func enter(_ sleeper: Sleeper, _ continuation: CheckedContinuation<Void, any Error>) {
    var outcome: Result<Void, any Error>?
    let due = state.withLock { state in
      if case .cancelled = sleeper.phase {
        outcome = .failure(CancellationError())
        return [GuaranteeResolver<Void>]()
      }
      if sleeper.deadline <= state.now {
        sleeper.phase = .over
        outcome = .success(())
        return []
      }
      sleeper.phase = .asleep(continuation)
      let place = state.sleepers.firstIndex { $0.deadline > sleeper.deadline }
      state.sleepers.insert(sleeper, at: place ?? state.sleepers.endIndex)
      return state.dueWatchers()
    }
    if let outcome { continuation.resume(with: outcome) }
    for watcher in due { watcher.fulfill() }
  }

  private func cancel(_ sleeper: Sleeper) {
    var continuation: CheckedContinuation<Void, any Error>?
    let due = state.withLock { state in
      if case .asleep(let sleeping) = sleeper.phase { continuation = sleeping }
      if case .over = sleeper.phase { return [GuaranteeResolver<Void>]() }
      sleeper.phase = .cancelled
      state.sleepers.removeAll { $0 === sleeper }
      return state.dueWatchers()
    }
    continuation?.resume(throwing: CancellationError())
    for watcher in due { watcher.fulfill() }
  }
}

// MARK: - Driving the clock

extension TestClock {
  /// Lets `duration` pass, and wakes the sleepers whose time has come, in order.
  ///
  /// The clock shows each sleeper's own deadline when that one wakes; the next one is woken when
  /// the one before is running again.
  public func advance(by duration: Duration) async {
    await advance(to: now.advanced(by: duration))
  }

  /// Lets time pass until `instant`, and wakes the sleepers whose time has come, in order.
  public func advance(to instant: Instant) async {
    while await wakeNext(by: instant) {}
    state.withLock { $0.now = max($0.now, instant) }
  }

  /// Lets time pass until nobody sleeps any more.
  ///
  /// What a woken sleeper starts counts only if it falls asleep before the last one wakes; with
  /// several steps one after the other use ``run(until:)``.
  public func run() async {
    while let last = state.withLock({ $0.sleepers.last?.deadline }) { await advance(to: last) }
  }

  /// Lets time pass, from one sleeper to the next, until `promise` has settled.
  ///
  /// Waits for work that is under way, and so never returns if the promise never settles. It goes on
  /// as soon as there is a sleeper: where two are to sleep side by side, such as a deadline and the
  /// delay between two attempts, wait for both with ``sleepers(reach:)`` and advance by hand.
  public func run(until promise: Promise<some Sendable>) async {
    let settled = Promise<Void> { resolver in
      _ = promise.tap(on: .immediate) { _ in resolver.fulfill() }
    }
    while promise.isPending {
      let someone = sleepersReached { $0 >= 1 }
      _ = await Promise.race([someone.promise, settled.uncancellable()]).result
      guard promise.isPending else { return }
      if let next = state.withLock({ $0.sleepers.first?.deadline }) { await advance(to: next) }
    }
  }

  /// Waits until exactly `count` sleeps are under way.
  ///
  /// A sleep starts in a task of its own, some time after the call that asked for it: wait for it
  /// before you advance the clock, or wait for 0 when it should have been released.
  public func sleepers(reach count: Int) async {
    await sleepersReached { $0 == count }.value
  }

  private func sleepersReached(_ isWanted: @escaping @Sendable (Int) -> Bool) -> Guarantee<Void> {
    let (guarantee, resolver) = Guarantee<Void>.withResolvers()
    let due = state.withLock { state in
      state.watchers.append((isWanted, resolver))
      return state.dueWatchers()
    }
    for watcher in due { watcher.fulfill() }
    return guarantee
  }

  /// Wakes the first sleeper if its time comes by `instant`.
  private func wakeNext(by instant: Instant) async -> Bool {
    var continuation: CheckedContinuation<Void, any Error>?
    var due: [GuaranteeResolver<Void>] = []
    let sleeper: Sleeper? = state.withLock { state in
      guard let first = state.sleepers.first, first.deadline <= instant else { return nil }
      state.sleepers.removeFirst()
      state.now = max(state.now, first.deadline)
      if case .asleep(let sleeping) = first.phase { continuation = sleeping }
      first.phase = .over
      due = state.dueWatchers()
      return first
    }
    guard let sleeper else { return false }
    continuation?.resume()
    for watcher in due { watcher.fulfill() }
    await sleeper.woken.guarantee.value
    return true
  }
}
