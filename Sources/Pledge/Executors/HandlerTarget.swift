import Dispatch

/// The destination to which the engine sends a handler.
///
/// `@unchecked Sendable`: an immutable reference to a queue or a scheduler, which are thread-safe.
@usableFromInline
struct HandlerTarget: @unchecked Sendable {
  @usableFromInline let object: AnyObject?
  @usableFromInline let flags: UInt64

  /// Creates the target for handlers that run on `executor`.
  ///
  /// Handlers reach the library's own executors directly, and custom executors through `enqueue`.
  /// In specialized code, the compiler removes the type comparisons and the casts.
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

  /// Creates the target for a queue that the program uses as an executor.
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
      // An opened `any PromiseExecutor` that holds a queue of a subclass, as on Apple platforms.
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

  /// Creates the target for a queue to which each handler is submitted separately.
  init(visiting queue: DispatchQueue) {
    object = queue
    flags = Cell.Mark.queueTarget | Cell.Mark.visit
  }

  /// Creates the target for a closure of the library that runs in place and runs no code of the
  /// program.
  @inlinable
  init(immediate: Void) {
    object = nil
    flags = 0
  }

  /// Creates the target for a closure of the program that runs in place.
  @inlinable
  init(programInPlace: Void) {
    object = nil
    flags = Cell.Input.programInPlace
  }

  /// Creates the target for closures with this isolation.
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

/// Sends jobs to a custom executor.
///
/// `@unchecked Sendable`: `executor` is immutable and `Sendable`.
private final class CustomScheduler<Executor: PromiseExecutor>: Scheduler, @unchecked Sendable {
  let executor: Executor
  init(_ executor: Executor) { self.executor = executor }

  override var callsProgram: Bool { true }

  override func enqueue(_ job: Job) {
    let state = ThreadState.current
    guard !state.pointee.isShared else {
      state.pointee.postponed.append { self.enqueue(job) }
      return
    }
    Trampoline.callExecutor(state) { executor.enqueue(PromiseJob(job)) }
  }

  override var name: String { "\(Executor.self)" }
  // Each handler has its own scheduler object, so only the executor, if it's an object, has an
  // identity.
  override var identity: AnyObject? {
    Executor.self is AnyObject.Type ? executor as AnyObject : nil
  }
}
