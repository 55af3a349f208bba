import Dispatch
import Pledge

/// A clock whose time the test controls: an hour takes no time.
///
/// Pass it wherever the library takes a clock.
///
/// ```swift
/// let clock = TestClock()
/// let limited = slow.timeout(after: .seconds(3600), clock: clock)
/// await clock.advance(by: .seconds(3600))
/// try await expectRejection(of: limited, with: TimeoutError.self)
/// ```
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class TestClock: Clock, Sendable {
  /// A moment, given as the time since the clock was created.
  public struct Instant: InstantProtocol {
    /// The time since the clock was created.
    public let offset: Swift.Duration

    /// Creates the moment at `offset` from the clock's start.
    public init(offset: Swift.Duration) { self.offset = offset }

    /// Returns the moment `duration` later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    /// Returns the duration from this moment to `other`.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    /// Returns whether one instant is before another.
    public static func < (first: Instant, second: Instant) -> Bool {
      first.offset < second.offset
    }
  }

  /// The time and the sleepers.
  private struct State {
    var now = Instant(offset: .zero)
    var sleepers = Heap<Sleeper>()
    /// The sequence number of the next sleeper.
    var nextOrder = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  let changes = ChangeWaiters()
  /// What follows from the code that uses this clock.
  let work = WorkInProgress()
  /// The queue that runs one advance at a time, in the order of the calls.
  let driver = DispatchQueue(label: "TestClock")
  /// A closure that is called when a task starts to sleep, or a timer starts.
  private let sleeperArrived: @Sendable () -> Void

  /// Creates a clock whose time is zero.
  public convenience init() {
    self.init(sleeperArrived: {})
  }

  init(sleeperArrived: @escaping @Sendable () -> Void) {
    self.sleeperArrived = sleeperArrived
    Following.start
    Following.join(work)
  }

  /// The current moment.
  public var now: Instant {
    Following.join(work)
    return state.withLock { $0.now }
  }

  /// The minimum resolution, which is zero.
  public var minimumResolution: Duration { .zero }

  /// The number of sleepers: tasks that sleep, and pending timers of operators.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Suspends the task until the clock is advanced to `deadline`.
  ///
  /// Cancelling the task ends the sleep immediately with `CancellationError`.
  ///
  /// - Complexity: O(log of the number of sleepers).
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    Following.join(work)
    let sleeper = Sleeper(deadline: deadline)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        add(sleeper) { isDue in
          continuation.resume(with: isDue ? .success(()) : .failure(CancellationError()))
        }
      }
    } onCancel: {
      cancel(sleeper)
    }
  }

  /// Adds a sleeper, or calls `end` inside this call if it's due or cancelled.
  private func add(_ sleeper: Sleeper, _ end: @escaping Sleeper.End) {
    let isDue: Bool? = state.withLock { state in
      if sleeper.isCancelled || state.isClosed { return false }
      if sleeper.deadline <= state.now { return true }
      sleeper.end = end
      sleeper.order = state.nextOrder
      state.nextOrder += 1
      state.sleepers.insert(sleeper)
      return nil
    }
    if let isDue { return end(isDue) }
    sleeperArrived()
    changes.tell()
  }

  private func cancel(_ sleeper: Sleeper) {
    let end = state.withLock { state in
      sleeper.isCancelled = true
      state.sleepers.remove(sleeper)
      return exchange(&sleeper.end, with: nil)
    }
    guard let end else { return }
    end(false)
    changes.tell()
  }
}

// MARK: - Timers of promises

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension TestClock: CallbackClock {
  /// Calls `action` on the thread that advances the clock to `deadline`, or inside this call if the
  /// deadline has passed.
  package func schedule(
    at deadline: Instant, _ action: @escaping @Sendable () -> Void
  ) -> AnyObject & Sendable {
    Following.join(work)
    let sleeper = Sleeper(deadline: deadline)
    add(sleeper) { isDue in if isDue { action() } }
    return ScheduledAction(clock: self, sleeper: sleeper)
  }

  /// A handle that removes its timer when it's deallocated.
  private final class ScheduledAction: Sendable {
    let clock: TestClock
    let sleeper: Sleeper

    init(clock: TestClock, sleeper: Sleeper) {
      self.clock = clock
      self.sleeper = sleeper
    }

    deinit { clock.cancel(sleeper) }
  }
}

// MARK: - Driving

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension TestClock {
  /// The earliest deadline of a sleeper; nil if there is no sleeper.
  var nextDeadline: Instant? { state.withLock { $0.sleepers.first?.deadline } }

  /// Sets the time to the first sleeper's deadline and wakes that sleeper, if it is due by
  /// `instant`; nil is no limit.
  ///
  /// It returns when the sleeper's task is idle, unless that task is isolated to an actor.
  ///
  /// - Returns: Whether a sleeper was due.
  func wakeNext(by instant: Instant?) -> Bool {
    wake { sleepers in sleepers.first.flatMap { $0.deadline <= instant ?? $0.deadline ? $0 : nil } }
  }

  /// The number of sleepers that share the earliest deadline.
  var dueSleeperCount: Int { state.withLock { Self.due($0.sleepers).count } }

  /// Wakes the sleeper with this index among those with the earliest deadline, in the same way as
  /// ``wakeNext(by:)``.
  func wakeDue(_ index: Int) {
    _ = wake { sleepers in Self.due(sleepers).dropFirst(index).first }
  }

  /// Returns the sleepers with the earliest deadline, in the order in which they were inserted.
  private static func due(_ sleepers: Heap<Sleeper>) -> [Sleeper] {
    sleepers.elements.filter { $0.deadline == sleepers.first?.deadline }
      .sorted { $0.precedes($1) }
  }

  private func wake(_ pick: (Heap<Sleeper>) -> Sleeper?) -> Bool {
    let end: Sleeper.End? = state.withLock { state in
      guard let sleeper = pick(state.sleepers) else { return nil }
      state.sleepers.remove(sleeper)
      state.now = max(state.now, sleeper.deadline)
      return exchange(&sleeper.end, with: nil)
    }
    guard let end else { return false }
    Following.run(as: [work]) { end(true) }
    changes.tell()
    return true
  }

  /// Ends all current and later sleeps with `CancellationError`, and discards timers.
  func close() {
    let sleepers = state.withLock { state in
      state.isClosed = true
      return state.sleepers.removeAll()
    }
    for sleeper in sleepers { cancel(sleeper) }
    changes.tell()
  }

  /// Sets the time to `instant`, unless it's in the past.
  func setTime(to instant: Instant) { state.withLock { $0.now = max($0.now, instant) } }
}
