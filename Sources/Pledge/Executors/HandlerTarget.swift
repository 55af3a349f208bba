import Dispatch

/// Where the engine sends a handler.
///
/// `@unchecked Sendable`: an immutable reference to a thread-safe object, a queue or a scheduler.
@usableFromInline
struct HandlerTarget: @unchecked Sendable {
  @usableFromInline let object: AnyObject?
  @usableFromInline let flags: UInt64

  /// Where `executor` runs handlers.
  ///
  /// The library's own executors are reached without a job for each handler; any other one through
  /// `enqueue`. The comparisons of types, and the casts, vanish where this is specialized.
  @inlinable
  init<Executor: PromiseExecutor>(_ executor: Executor) {
    if Executor.self == ImmediateExecutor.self {
      self.init(programInPlace: ())
    } else if Executor.self == GlobalExecutor.self {
      self.init(queue: GlobalExecutor.queue)
    } else if Executor.self == MainExecutor.self {
      self.init(isolation: MainActor.shared)
    } else if Executor.self == QueueExecutor.self, let executor = executor as? QueueExecutor {
      self = executor.target
    } else if Executor.self == TurnExecutor.self, let executor = executor as? TurnExecutor {
      self = executor.target
    } else if Executor.self == DispatchQueue.self, let queue = executor as? DispatchQueue {
      self.init(dispatchQueue: queue)
    } else {
      self.init(calling: executor)
    }
  }

  /// For a queue of the program.
  @usableFromInline
  init(dispatchQueue queue: DispatchQueue) {
    if MainThread.isServed(by: queue) {
      self.init(scheduler: MainScheduler.shared)
    } else {
      self.init(queue: queue)
    }
  }

  @usableFromInline
  init<Executor: PromiseExecutor>(calling executor: Executor) {
    if let executor = executor as? ActorExecutor {
      self.init(isolation: executor.actor)
    } else if Executor.self is AnyObject.Type, let queue = executor as? DispatchQueue {
      // An `any PromiseExecutor` whose queue has a class of its own, as on Apple platforms.
      self.init(dispatchQueue: queue)
    } else {
      self.init(scheduler: CustomScheduler(executor))
    }
  }

  init(scheduler: Scheduler) {
    object = scheduler
    flags = 0
  }

  @usableFromInline
  init(queue: DispatchQueue) {
    object = queue
    flags = Cell.Input.queueTarget
  }

  /// For a queue on which each handler takes a visit for itself.
  init(visiting queue: DispatchQueue) {
    object = queue
    flags = Cell.Mark.queueTarget | Cell.Mark.visit
  }

  /// In place, for a closure of the library's own, which runs no code of the program.
  @inlinable
  init(immediate: Void) {
    object = nil
    flags = 0
  }

  /// In place, for a closure of the program.
  @inlinable
  init(programInPlace: Void) {
    object = nil
    flags = Cell.Input.programInPlace
  }

  /// Where a closure with this isolation runs.
  @usableFromInline
  init(isolation: (any Actor)?) {
    guard let isolation else {
      self.init(queue: Queues.global)
      return
    }
    if isolation === MainActor.shared {
      self.init(scheduler: MainScheduler.shared)
    } else {
      self.init(scheduler: ActorScheduler.of(isolation))
    }
  }
}

/// Sends jobs to an executor of the program.
///
/// `@unchecked Sendable`: the executor is `Sendable`, and immutable here.
private final class CustomScheduler<Executor: PromiseExecutor>: Scheduler, @unchecked Sendable {
  let executor: Executor
  init(_ executor: Executor) { self.executor = executor }

  override func enqueue(_ job: Job) {
    let state = ThreadState.current
    guard !state.pointee.isTimerThread else {
      state.pointee.postponed.append { self.enqueue(job) }
      return
    }
    state.pointee.enqueueDepth += 1
    executor.enqueue(PromiseJob(job))
    state.pointee.enqueueDepth -= 1
  }

  override var name: String { "\(Executor.self)" }
  // This object is made anew for each handler; the executor may be an object that is not.
  override var identity: AnyObject? {
    Executor.self is AnyObject.Type ? executor as AnyObject : nil
  }
}
