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
  private let scheduler: SerialScheduler

  /// Creates an executor whose turns are scheduled by `schedule`.
  ///
  /// - Parameters:
  ///   - name: The name of the executor in traces.
  ///   - isCurrent: Returns whether the calling thread is the one on which turns run. On that
  ///     thread, ``Thenable/wait()`` throws ``DeadlockError`` instead of waiting for a handler that
  ///     runs on this executor.
  ///   - schedule: Schedules its argument to be called once, soon, and after `schedule` has
  ///     returned. If the argument is released without being called, the promises of the waiting
  ///     handlers are rejected with ``BrokenPromiseError``. At most one turn is outstanding at any
  ///     time.
  public init(
    name: String, isCurrent: @escaping @Sendable () -> Bool = { false },
    schedule: @escaping @Sendable (_ turn: @escaping @Sendable () -> Void) -> Void
  ) {
    scheduler = TurnScheduler(name, isCurrent, schedule, owner: nil)
  }

  private init(_ scheduler: SerialScheduler) { self.scheduler = scheduler }

  /// Schedules the job to run in a turn.
  public func enqueue(_ job: PromiseJob) { scheduler.enqueue(ClosureJob { job.run() }) }

  /// The target that reaches the scheduler without a wrapper for each job.
  @usableFromInline var target: HandlerTarget { HandlerTarget(scheduler, .scheduler) }

  /// Returns the executor for `owner`, which is the same one while it is in use.
  ///
  /// If `owner` is also the serial executor of actors, handlers on both run in order. `schedule`
  /// must keep `owner` alive, because the executor is found by the address of `owner`.
  package static func shared(
    by owner: AnyObject, name: @autoclosure () -> String,
    isCurrent: @escaping @Sendable () -> Bool,
    schedule: @escaping @Sendable (_ turn: @escaping @Sendable () -> Void) -> Void
  ) -> TurnExecutor {
    let id = ObjectIdentifier(owner)
    return TurnExecutor(
      SerialScheduler.registry.scheduler(for: id) {
        TurnScheduler(name(), isCurrent, schedule, owner: id)
      })
  }
}

/// The scheduler of a `TurnExecutor`, whose turns run where `schedule` runs them.
///
/// `@unchecked Sendable`: all properties are immutable.
private final class TurnScheduler: SerialScheduler, @unchecked Sendable {
  private let label: String
  private let isCurrent: @Sendable () -> Bool
  private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

  init(
    _ name: String, _ isCurrent: @escaping @Sendable () -> Bool,
    _ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    owner: ObjectIdentifier?
  ) {
    label = name
    self.isCurrent = isCurrent
    self.schedule = schedule
    super.init(owner.map { .of($0) } ?? SerialQueue(canNest: true), owner: owner)
  }

  override var name: String { label }
  override var occupiesCurrentThread: Bool { isCurrent() }

  override func requestTurn(_ urgency: Urgency) {
    Trampoline.callExecutor {
      let turn = PromiseJob(
        ClosureJob { [self] in
          queue.runTurn(urgency)
        } ifDropped: { [self] in
          queue.dropTurn(urgency, of: self)
        })
      schedule { turn.run() }
    }
  }
}
