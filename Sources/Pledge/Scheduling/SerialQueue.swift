// A serial executor, such as an actor or an event loop, runs jobs in turns. Its queue determines the
// order; a turn is only permission to run jobs from the front of the queue. Therefore, a turn that
// is requested twice, at different priorities, neither repeats nor reorders anything.

/// How urgent a job is: one of a few classes of task priorities.
struct Urgency {
  private let rank: UInt8

  /// The class of all jobs on an executor without priorities.
  static let none = Urgency(.background)

  init(_ priority: TaskPriority) {
    // The named priorities are 9 (background), 17, 21, 25 (high), and 33 (the user interface's).
    rank = priority.rawValue <= 9 ? 0 : max(1, min((priority.rawValue - 10) / 4, 4))
  }

  /// The priority of a task that runs jobs of this class.
  var priority: TaskPriority {
    TaskPriority(rawValue: rank == 0 ? 9 : rank == 4 ? 33 : 13 + 4 * rank)
  }

  /// The class in a set of classes; greater than all sets of less urgent ones.
  var bit: UInt8 { 1 << rank }
}

extension TaskPriority {
  /// The priority of the current task or thread.
  ///
  /// On Linux, threads other than the main thread have none, so that `Task.currentPriority` is zero
  /// outside of tasks: less than that of any task, although the tasks that such a thread starts have
  /// medium priority.
  static var current: TaskPriority {
    let priority = Task.currentPriority
    return priority.rawValue == 0 ? .medium : priority
  }
}

/// The jobs that wait for one serial executor, in order.
///
/// All schedulers of an executor share one queue: those of two actors with the same executor, or of
/// an event loop and an actor that runs on it.
final class SerialQueue: Sendable {
  private struct Entry {
    let job: Job
    let scheduler: SerialScheduler
  }

  private struct State {
    /// The waiting jobs.
    var entries = Fifo<Entry>()
    /// The number of turns that are running: nested event loops run turns inside a turn.
    var turns = 0
    /// The classes for which a turn was requested that hasn't begun.
    var requests: UInt8 = 0
    /// The most urgent class of the jobs that were added since the queue was last empty.
    var urgency = Urgency.none

    /// Requests a turn for `urgency`; false if one that is at least as urgent will begin anyway.
    mutating func request(_ urgency: Urgency) -> Bool {
      if requests >= urgency.bit { return false }
      requests |= urgency.bit
      return true
    }
  }

  private let state = Mutex(State())
  /// The executor that the queue is registered for, if any.
  private let executor: ObjectIdentifier?
  /// Whether the executor can run turns inside a turn; an actor that is its own executor can't.
  private let canNest: Bool

  init(canNest: Bool, executor: ObjectIdentifier? = nil) {
    self.canNest = canNest
    self.executor = executor
  }

  deinit { if let executor { Self.registry.remove(for: executor) } }

  private static let registry = SchedulerRegistry<SerialQueue>()

  /// Returns the queue of the executor with this identity, which is the same one while it is in use.
  static func of(_ executor: ObjectIdentifier) -> SerialQueue {
    registry.scheduler(for: executor) { SerialQueue(canNest: true, executor: executor) }
  }

  /// Adds a job of `scheduler`; the caller must request a turn if this returns true.
  ///
  /// - Parameter continuesTurn: Whether the turn of this queue that runs on the current thread will
  ///   run the job. On an event loop, any other turn might itself wait for the job, in a nested run
  ///   of the loop.
  func add(
    _ job: Job, of scheduler: SerialScheduler, _ urgency: Urgency, continuesTurn: Bool
  ) -> Bool {
    state.withLock { state in
      if state.entries.isEmpty { state.urgency = .none }
      if urgency.bit > state.urgency.bit { state.urgency = urgency }
      state.entries.append(Entry(job: job, scheduler: scheduler))
      if state.turns > 0, continuesTurn || !canNest { return false }
      return state.request(urgency)
    }
  }

  /// Runs the turn that was requested for `urgency`: jobs from the front of the queue, until none
  /// is left or the budget is spent; O(1) per job.
  ///
  /// Must be called on the executor.
  func runTurn(_ urgency: Urgency) {
    state.withLock { state in
      state.requests &= ~urgency.bit
      state.turns += 1
    }
    Turn().begin { thread in
      for _ in 0..<Turn.maximumJobs {
        guard let entry = state.withLock({ $0.entries.removeFirst() }) else { break }
        thread.pointee.turn.target = .passUnretained(entry.scheduler)
        entry.job.perform(thread, isInPlace: false)
      }
    }
    let (next, rest): (SerialScheduler?, Urgency) = state.withLock { state in
      state.turns -= 1
      guard let first = state.entries.first, state.request(state.urgency) else {
        return (nil, .none)
      }
      return (first.scheduler, state.urgency)
    }
    next?.requestTurn(rest)
  }

  /// Drops the jobs of `scheduler`, because the turn that was requested for `urgency` never begins.
  func dropTurn(_ urgency: Urgency, of scheduler: SerialScheduler) {
    let dropped = state.withLock { state in
      state.requests &= ~urgency.bit
      return state.entries.removeAll { $0.scheduler === scheduler }
    }
    for entry in dropped { entry.job.dropAfterEnqueue() }
  }
}

/// A scheduler whose jobs run in the turns of a serial executor.
class SerialScheduler: Scheduler, @unchecked Sendable {
  // Immutable.
  final let queue: SerialQueue
  /// The actor or the event loop that this scheduler is registered for, if any.
  private let owner: ObjectIdentifier?

  init(_ queue: SerialQueue, owner: ObjectIdentifier?) {
    self.queue = queue
    self.owner = owner
  }

  deinit { if let owner { Self.registry.remove(for: owner) } }

  static let registry = SchedulerRegistry<SerialScheduler>()

  /// Makes the executor call `runTurn` with `urgency` of this scheduler's queue later.
  ///
  /// Subclasses must override this method.
  func requestTurn(_ urgency: Urgency) { fatalError("Pledge: abstract") }

  /// How urgent a job is that the current thread adds.
  var currentUrgency: Urgency { .none }

  override final var isIsolation: Bool { true }

  override final func enqueue(_ job: Job) {
    let urgency = currentUrgency
    let state = ThreadState.current
    // In a chain, the user's closure has returned, and the turn goes on.
    let continuesTurn =
      state.pointee.turn.target?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
      && state.pointee.closuresOnStack == 0
    if queue.add(job, of: self, urgency, continuesTurn: continuesTurn) { requestTurn(urgency) }
  }
}
