/// A serial executor's queue of jobs, and the turns that run them.
class TurnScheduler: Scheduler, @unchecked Sendable {
  private struct Queue {
    var jobs: [Job?] = []
    var isScheduled = false
  }

  private let queue = Mutex(Queue())
  /// The jobs that turns have removed from the queue, and the index of the next one.
  ///
  /// Guarded by the turn: at any time there is at most one, and it runs on its executor.
  private final var batch: [Job?] = []
  private final var next = 0

  /// Schedules a later call of `runTurn` on the executor.
  ///
  /// Subclasses must override this method.
  func scheduleTurn() { fatalError("Pledge: abstract") }

  override var isIsolation: Bool { true }

  override func enqueue(_ job: Job) {
    let mustSchedule = queue.withLock { queue in
      queue.jobs.append(job)
      defer { queue.isScheduled = true }
      return !queue.isScheduled
    }
    if mustSchedule { scheduleTurn() }
  }

  /// Runs jobs until none is left or the budget is spent; O(1) per job.
  ///
  /// Must be called on the executor.
  final func runTurn() {
    let state = ThreadState.current
    let outer = (state.pointee.scheduler, state.pointee.turn, state.pointee.closuresOnStack)
    state.pointee.scheduler = .passUnretained(self)
    state.pointee.turn = QueueTurn()
    state.pointee.closuresOnStack = 0
    defer {
      (state.pointee.scheduler, state.pointee.turn, state.pointee.closuresOnStack) = outer
    }

    for _ in 0..<TurnBudget.jobs {
      guard let job = nextJob() else { return }
      job.perform(state, isInPlace: false)
    }
    scheduleTurn()
  }

  /// Returns the next job; if there is none, returns nil and ends the turn.
  private final func nextJob() -> Job? {
    if next == batch.count {
      batch = []
      next = 0
      let jobs = queue.withLock { queue in
        if queue.jobs.isEmpty { queue.isScheduled = false }
        return exchange(&queue.jobs, with: [])
      }
      // From here on, another turn may run.
      if jobs.isEmpty { return nil }
      batch = jobs
    }
    defer { next += 1 }
    return exchange(&batch[next], with: nil)
  }

  /// Removes and returns all waiting jobs, because the turn that was to run them never will.
  ///
  /// Called instead of that turn.
  final func takeJobs() -> [Job] {
    let rest = exchange(&batch, with: []).dropFirst(next).compactMap { $0 }
    next = 0
    return rest
      + queue.withLock { queue in
        queue.isScheduled = false
        return exchange(&queue.jobs, with: []).compactMap { $0 }
      }
  }
}

/// The main actor's scheduler, whose turns run on the main queue.
final class MainScheduler: TurnScheduler, @unchecked Sendable {
  private static let main = MainScheduler()
  static var shared: MainScheduler {
    cached(in: &mainSchedulerWord, main).takeUnretainedValue()
  }

  override var name: String { "main" }

  override func scheduleTurn() {
    Queues.async(on: Queues.main) { self.runTurn() }
  }
}

/// The cached address of the main actor's scheduler.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var mainSchedulerWord: UInt64 = 0

/// An actor's scheduler.
///
/// There is one for each actor with waiting handlers.
final class ActorScheduler: TurnScheduler, @unchecked Sendable {
  private let actor: any Actor

  private init(_ actor: any Actor) { self.actor = actor }

  override var name: String { "\(type(of: actor))" }

  override func scheduleTurn() {
    Self.hop(to: actor) { self.runTurn() }
  }

  static func hop(to actor: any Actor, _ work: @escaping @Sendable () -> Void) {
    // Detached, so that handlers don't see the task-local values of the code that happened to
    // schedule the turn, but with its priority.
    Task.detached(priority: Task.currentPriority) { await Self.run(on: actor, work) }
  }

  private static func run(on actor: isolated any Actor, _ work: @Sendable () -> Void) {
    work()
  }

  private static let registry = SchedulerRegistry<ActorScheduler>()

  /// Returns the scheduler of `actor`, which is the same one while it is in use.
  static func of(_ actor: any Actor) -> ActorScheduler {
    let id = ObjectIdentifier(actor)
    return registry.existing(for: id) ?? registry.registered(ActorScheduler(actor), for: id)
  }

  deinit { Self.registry.remove(ObjectIdentifier(self), for: ObjectIdentifier(actor)) }
}
