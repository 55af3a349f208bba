/// An executor that runs handlers in batches on your own serial executor, such as an event loop or
/// a run loop.
///
/// A type that conforms to ``PromiseExecutor`` receives a separate job for each handler. A
/// `TurnExecutor` keeps a queue of handlers instead, and requests a *turn* when the queue becomes
/// nonempty. A turn runs up to 128 handlers in first-in, first-out order. If more handlers are
/// waiting, it requests another turn, so that other work on your executor can run in between.
///
/// ```swift
/// let executor = TurnExecutor(name: "frames", isCurrent: { game.isOnItsThread }) { turn in
///   game.beforeNextFrame(turn)
/// }
/// ```
///
/// Create one `TurnExecutor` for each executor and reuse it: handlers run in order only within the
/// same `TurnExecutor`.
public struct TurnExecutor: PromiseExecutor {
  private let scheduler: RequestedTurnScheduler

  /// Creates an executor whose turns are scheduled by `schedule`.
  ///
  /// - Parameters:
  ///   - name: The name of the executor in traces.
  ///   - isCurrent: Returns whether the calling thread is the one on which turns run. On that
  ///     thread, ``Promise/wait()`` throws ``DeadlockError`` instead of waiting for a handler that
  ///     runs on this executor.
  ///   - schedule: Schedules its argument to be called once, soon, and after `schedule` has
  ///     returned. If the argument is released without being called, the promises of the waiting
  ///     handlers are rejected with ``BrokenPromiseError``. At most one turn is outstanding at any
  ///     time.
  public init(
    name: String, isCurrent: @escaping @Sendable () -> Bool = { false },
    schedule: @escaping @Sendable (_ turn: @escaping @Sendable () -> Void) -> Void
  ) {
    scheduler = RequestedTurnScheduler(
      name: name, isCurrent: isCurrent, schedule: schedule, owner: nil)
  }

  private init(_ scheduler: RequestedTurnScheduler) { self.scheduler = scheduler }

  /// Schedules the job to run in a turn.
  public func enqueue(_ job: PromiseJob) { scheduler.enqueue(EnqueuedJob(job)) }

  /// The target that reaches the scheduler without a wrapper for each job.
  @usableFromInline var target: HandlerTarget { HandlerTarget(scheduler: scheduler) }

  /// Returns the executor for `owner`, which is the same one while it is in use.
  ///
  /// `schedule` must keep `owner` alive, because the executor is found by the address of `owner`.
  package static func shared(
    by owner: AnyObject, name: @autoclosure () -> String,
    isCurrent: @escaping @Sendable () -> Bool,
    schedule: @escaping @Sendable (_ turn: @escaping @Sendable () -> Void) -> Void
  ) -> TurnExecutor {
    let id = ObjectIdentifier(owner)
    let registry = RequestedTurnScheduler.registry
    if let scheduler = registry.existing(for: id) { return TurnExecutor(scheduler) }
    // The closures belong to the program, so they're created and released outside the lock.
    let new = RequestedTurnScheduler(
      name: name(), isCurrent: isCurrent, schedule: schedule, owner: id)
    return TurnExecutor(registry.registered(new, for: id))
  }
}

/// The scheduler of a `TurnExecutor`, whose turns run where `schedule` runs them.
///
/// `@unchecked Sendable`: guarded like `TurnScheduler`; the added properties are immutable. The
/// queue is safe even if the executor isn't serial, because at most one turn is outstanding at any
/// time.
private final class RequestedTurnScheduler: TurnScheduler, @unchecked Sendable {
  private let label: String
  private let isCurrent: @Sendable () -> Bool
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// The object that this scheduler is registered for, if any.
  private let owner: ObjectIdentifier?

  init(
    name: String, isCurrent: @escaping @Sendable () -> Bool,
    schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    owner: ObjectIdentifier?
  ) {
    label = name
    self.isCurrent = isCurrent
    self.schedule = schedule
    self.owner = owner
    super.init()
    BlockingChecks.noteExecutorWithThread()
  }

  override var name: String { label }
  override var occupiesCurrentThread: Bool { isCurrent() }

  override func scheduleTurn() {
    let state = ThreadState.current
    guard !state.pointee.isShared else {
      state.pointee.postponed.append { self.scheduleTurn() }
      return
    }
    Trampoline.callExecutor(state) {
      let turn = RequestedTurn(self)
      schedule { turn.run() }
    }
  }

  static let registry = SchedulerRegistry<RequestedTurnScheduler>()

  deinit {
    if let owner { Self.registry.remove(ObjectIdentifier(self), for: owner) }
  }
}

/// A requested turn, which runs once or, if it's dropped, rejects the promises of the waiting
/// handlers.
private final class RequestedTurn: Sendable {
  private let scheduler: RequestedTurnScheduler
  private let hasRun = AtomicFlag(false)

  init(_ scheduler: RequestedTurnScheduler) { self.scheduler = scheduler }

  func run() {
    if hasRun.exchange(true, ordering: .acquiringAndReleasing) { return }
    let state = ThreadState.current
    if state.pointee.enqueueDepth > 0 {
      // `schedule` has called its argument before returning.
      Trampoline.perform(InnerTurn(scheduler), state)
    } else {
      scheduler.runTurn()
    }
  }

  deinit {
    if hasRun.load(ordering: .acquiring) { return }
    for job in scheduler.takeJobs() { DroppedJob.reject(job) }
  }
}

/// A turn as a job for the trampoline.
private final class InnerTurn: Job, @unchecked Sendable {
  // Immutable.
  private let scheduler: RequestedTurnScheduler

  init(_ scheduler: RequestedTurnScheduler) { self.scheduler = scheduler }

  override var callsProgramInPlace: Bool { true }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    scheduler.runTurn()
  }
}

/// A job that was passed to `TurnExecutor.enqueue`.
private final class EnqueuedJob: Job, @unchecked Sendable {
  // Immutable.
  private let job: PromiseJob

  init(_ job: PromiseJob) { self.job = job }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) { job.run() }
}
