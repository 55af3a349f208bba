import Dispatch

// The targets of executors and isolations.

extension HandlerTarget {
  /// Creates the target for handlers that run on `executor`.
  ///
  /// Handlers reach the library's own executors directly, and custom executors through `enqueue`.
  /// In specialized code, the compiler removes the type comparisons and the casts.
  @inlinable
  init<Executor: PromiseExecutor>(_ executor: Executor) {
    if Executor.self == ImmediateExecutor.self {
      self = .inPlace
    } else if Executor.self == GlobalExecutor.self {
      self = .global
    } else if Executor.self == QueueExecutor.self, let executor = executor as? QueueExecutor {
      self = executor.target
    } else if Executor.self == TurnExecutor.self, let executor = executor as? TurnExecutor {
      self = executor.target
    } else if Executor.self == DispatchQueue.self, let queue = executor as? DispatchQueue {
      self.init(queue: queue)
    } else {
      self.init(calling: executor)
    }
  }

  @usableFromInline
  init<Executor: PromiseExecutor>(calling executor: Executor) {
    if let executor = executor as? ActorExecutor {
      self.init(isolation: executor.actor)
    } else if Executor.self is AnyObject.Type, let queue = executor as? DispatchQueue {
      // An opened `any PromiseExecutor` that holds a queue of a subclass, as on Apple platforms.
      self.init(queue: queue)
    } else {
      self.init(CustomScheduler(executor), .scheduler)
    }
  }

  /// Creates the target for `queue`; the main queue always has the same one, whichever object
  /// refers to it.
  @usableFromInline
  init(queue: DispatchQueue, _ kind: Kind = .queue) {
    self.init(MainThread.isServed(by: queue) ? Queues.main : queue, kind)
  }

  @usableFromInline static var global: HandlerTarget { HandlerTarget(Queues.global, .queue) }

  /// The target for the main queue, and for actors that run on it.
  @usableFromInline static var main: HandlerTarget { HandlerTarget(Queues.main, .queue) }

  /// Creates the target for closures with this isolation.
  @usableFromInline
  init(isolation: (any Actor)?) {
    if let isolation {
      self =
        ActorScheduler.isOnMainExecutor(isolation)
        ? .main : HandlerTarget(ActorScheduler.of(isolation), .scheduler)
    } else {
      self = .global
    }
  }

  /// The target of the turn that runs on the current thread, whose jobs run after those that it
  /// already has: that of `isolation`, if there is one.
  static func ofTurn(_ isolation: (any Actor)?) -> HandlerTarget {
    if let isolation { return HandlerTarget(isolation: isolation) }
    guard let target = ThreadState.current.pointee.turn.target?.takeUnretainedValue() else {
      return .global
    }
    return HandlerTarget(target, target is Scheduler ? .scheduler : .queue)
  }
}

/// Sends jobs to a custom executor.
///
/// `@unchecked Sendable`: `executor` is immutable and `Sendable`.
private final class CustomScheduler<Executor: PromiseExecutor>: Scheduler, @unchecked Sendable {
  let executor: Executor
  init(_ executor: Executor) { self.executor = executor }

  override func enqueue(_ job: Job) {
    Trampoline.callExecutor { executor.enqueue(PromiseJob(job)) }
  }

  override var name: String { "\(Executor.self)" }
  // Each handler has its own scheduler object, so only the executor, if it's an object, has an
  // identity.
  override var identity: AnyObject? {
    Executor.self is AnyObject.Type ? executor as AnyObject : nil
  }
}
