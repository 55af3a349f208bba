/// Runs handlers on a serial executor of the program's, such as an event loop or a run loop, several
/// in one visit.
///
/// An executor that conforms to ``PromiseExecutor`` by itself gets one job for each handler. This one
/// keeps a queue of handlers and asks for a visit when the queue is no longer empty. A visit, or
/// *turn*, runs up to 128 handlers in the order in which they came; if more are left, it asks for
/// another one, so that the other work of the executor gets its share.
///
/// ```swift
/// let executor = TurnExecutor(name: "frames", isCurrent: { game.isOnItsThread }) { turn in
///   game.beforeNextFrame(turn)
/// }
/// ```
///
/// Make one for each executor and keep it: handlers run in order only if they were given to the same
/// `TurnExecutor`.
public struct TurnExecutor: PromiseExecutor {
  private let scheduler: RequestedTurnScheduler

  /// Makes an executor that runs its turns as `schedule` says.
  ///
  /// - Parameters:
  ///   - name: What traces call it.
  ///   - isCurrent: Whether the calling thread is the one that the turns run on. ``Promise/wait()``
  ///     asks this: there it throws ``DeadlockError`` instead of waiting for a handler that needs the
  ///     very thread.
  ///   - schedule: Has its argument called soon, once, and not inside this call. If it drops its
  ///     argument, the promises of the waiting handlers are rejected with ``BrokenPromiseError``.
  ///     There is never more than one turn outstanding.
  public init(
    name: String, isCurrent: @escaping @Sendable () -> Bool = { false },
    schedule: @escaping @Sendable (_ turn: @escaping @Sendable () -> Void) -> Void
  ) {
    scheduler = RequestedTurnScheduler(
      name: name, isCurrent: isCurrent, schedule: schedule, owner: nil)
  }

  private init(_ scheduler: RequestedTurnScheduler) { self.scheduler = scheduler }

  /// Has the job run in a turn.
  public func enqueue(_ job: PromiseJob) { scheduler.enqueue(EnqueuedJob(job)) }

  /// Reaches the scheduler without a wrapper for each job.
  @usableFromInline var target: HandlerTarget { HandlerTarget(scheduler: scheduler) }

  /// The executor of `owner`: the same one for as long as it is in use.
  ///
  /// `schedule` must keep `owner` alive: the executor is found by its address.
  package static func shared(
    by owner: AnyObject, name: @autoclosure () -> String,
    isCurrent: @escaping @Sendable () -> Bool,
    schedule: @escaping @Sendable (_ turn: @escaping @Sendable () -> Void) -> Void
  ) -> TurnExecutor {
    let id = ObjectIdentifier(owner)
    let registry = RequestedTurnScheduler.registry
    if let scheduler = registry.existing(for: id) { return TurnExecutor(scheduler) }
    // The closures belong to the program, and so are made and released outside the lock.
    let new = RequestedTurnScheduler(
      name: name(), isCurrent: isCurrent, schedule: schedule, owner: id)
    return TurnExecutor(registry.registered(new, for: id))
  }
}

/// Turns on an executor of the program's.
///
/// `@unchecked Sendable`: as `TurnScheduler`; what it adds is immutable. The queue is safe even if the
/// executor is not serial, as there is never more than one turn outstanding.
private final class RequestedTurnScheduler: TurnScheduler, @unchecked Sendable {
  private let label: String
  private let isCurrent: @Sendable () -> Bool
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// What this is registered for, if it is.
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
    guard !state.pointee.isTimerThread else {
      state.pointee.postponed.append { self.scheduleTurn() }
      return
    }
    let turn = RequestedTurn(self)
    state.pointee.enqueueDepth += 1
    schedule { turn.run() }
    state.pointee.enqueueDepth -= 1
  }

  static let registry = SchedulerRegistry<RequestedTurnScheduler>()

  deinit {
    if let owner { Self.registry.remove(ObjectIdentifier(self), for: owner) }
  }
}

/// A turn that an executor of the program's was asked for: runs once, or breaks the promises of the
/// waiting handlers when it is dropped.
private final class RequestedTurn: Sendable {
  private let scheduler: RequestedTurnScheduler
  private let hasRun = AtomicFlag(false)

  init(_ scheduler: RequestedTurnScheduler) { self.scheduler = scheduler }

  func run() {
    if hasRun.exchange(true, ordering: .acquiringAndReleasing) { return }
    let state = ThreadState.current
    if state.pointee.enqueueDepth > 0 {
      // Inside the call that asked for the turn, which is no place for it.
      Trampoline.perform(InnerTurn(scheduler), state)
    } else {
      scheduler.runTurn()
    }
  }

  deinit {
    if hasRun.load(ordering: .acquiring) { return }
    for job in scheduler.takeJobs() { Trampoline.perform(DroppedJob(job), ThreadState.current) }
  }
}

/// A turn as a job of the trampoline's.
private final class InnerTurn: Job, @unchecked Sendable {
  // Immutable.
  private let scheduler: RequestedTurnScheduler

  init(_ scheduler: RequestedTurnScheduler) { self.scheduler = scheduler }

  override var callsProgramInPlace: Bool { true }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    scheduler.runTurn()
  }
}

/// A job that was given to `enqueue`, among those that the engine gives to the scheduler.
private final class EnqueuedJob: Job, @unchecked Sendable {
  // Immutable.
  private let job: PromiseJob

  init(_ job: PromiseJob) { self.job = job }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) { job.run() }
}
