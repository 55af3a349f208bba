import Dispatch

/// Something that runs handlers: where a promise's closures are executed.
///
/// `DispatchQueue` conforms, and so do the executors that can be named by `.main`, `.immediate`,
/// `.global` and `.actor(_:)`. To run handlers somewhere else, conform a type of your own:
///
/// ```swift
/// struct LoopExecutor: PromiseExecutor {
///   let loop: MyLoop
///   func enqueue(_ job: PromiseJob) { loop.execute { job.run() } }
/// }
/// ```
public protocol PromiseExecutor: Sendable {
  /// Has `job` run soon, once, and not inside this call.
  ///
  /// Jobs must run in the order in which they were enqueued if handlers are to run in the order in
  /// which they were attached. A job that is let go without having run rejects its promise with
  /// ``BrokenPromise``.
  func enqueue(_ job: PromiseJob)

  /// How the engine reaches this executor. Implemented for you.
  var _target: _HandlerTarget { get }
}

extension PromiseExecutor {
  /// How the engine reaches this executor: through ``enqueue(_:)``.
  public var _target: _HandlerTarget { _HandlerTarget(scheduler: CustomScheduler(self)) }
}

/// Where the engine sends a handler.
///
/// Not API.
///
/// `@unchecked Sendable`: an immutable reference to a thread-safe object, a queue or a scheduler.
public struct _HandlerTarget: @unchecked Sendable {
  @usableFromInline let object: AnyObject?
  @usableFromInline let flags: UInt64

  init(scheduler: Scheduler) {
    object = scheduler
    flags = 0
  }

  @usableFromInline
  init(queue: DispatchQueue) {
    object = queue
    flags = Cell.Input.queueTarget
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

/// A handler on its way to the executor that shall run it.
public struct PromiseJob: Sendable {
  private let token: Token

  init(_ job: Job) { token = Token(job) }

  /// Runs the handler.
  ///
  /// A second call does nothing. A call inside the executor's own `enqueue`, which is no place for
  /// it, runs the handler only after `enqueue` has returned, if handlers nest too deep otherwise.
  public func run() {
    token.run()
  }

  private final class Token: Sendable {
    let job: Job
    // A handler that has run may wait again, for the promise that it returned.
    let hasRun = AtomicFlag(false)

    init(_ job: Job) { self.job = job }

    func run() {
      if hasRun.exchange(true, ordering: .acquiringAndReleasing) { return }
      let state = ThreadState.current
      if state.pointee.enqueueDepth > 0 {
        Trampoline.perform(DeferredJob(job), state)
      } else {
        job.perform(state, isInPlace: false)
      }
    }

    deinit {
      if hasRun.load(ordering: .acquiring) { return }
      // Nested only so deep, for an executor that drops the jobs of a whole chain at once.
      Trampoline.perform(DroppedJob(job), ThreadState.current)
    }
  }
}

/// Rejects the promise of a handler that an executor dropped.
private final class DroppedJob: Job, @unchecked Sendable {
  private let job: Job

  init(_ job: Job) { self.job = job }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    (job as? Handler)?.breakUncalled()
  }
}

/// Calls `enqueue` of a custom executor.
///
/// `@unchecked Sendable`: immutable.
private final class EnqueueJob: Job, @unchecked Sendable {
  private let job: Job
  private let scheduler: Scheduler

  init(_ job: Job, on scheduler: Scheduler) {
    self.job = job
    self.scheduler = scheduler
  }

  override var callsProgramInPlace: Bool { true }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    scheduler.enqueue(job)
  }
}

private final class CustomScheduler<Executor: PromiseExecutor>: Scheduler, @unchecked Sendable {
  let executor: Executor
  init(_ executor: Executor) { self.executor = executor }

  override func enqueue(_ job: Job) {
    let state = ThreadState.current
    guard !state.pointee.isTimerThread else {
      return Trampoline.perform(EnqueueJob(job, on: self), state)
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

// MARK: - Executors by name

/// Runs handlers in place: inside the call that settles the promise, or inside the call that
/// attaches the handler if the promise is settled already.
///
/// The one executor that opts out of the clean stack. Handlers that settle promises whose handlers
/// are immediate nest, but only 24 deep; deeper ones run when the outermost one has returned.
public struct ImmediateExecutor: PromiseExecutor {
  @inlinable init() {}

  /// Runs the job here.
  public func enqueue(_ job: PromiseJob) { job.run() }
  /// Reaches the library's own trampoline.
  @inlinable public var _target: _HandlerTarget { _HandlerTarget(programInPlace: ()) }
}

/// Runs handlers on the global concurrent queue, several at a time.
public struct GlobalExecutor: PromiseExecutor {
  /// Has the job run on the global concurrent queue.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: Queues.global) { job.run() } }
  /// Reaches the global queue without a wrapper.
  public var _target: _HandlerTarget { _HandlerTarget(queue: Queues.global) }
}

/// Runs handlers on the main actor, which is the main thread.
public struct MainExecutor: PromiseExecutor {
  /// Has the job run on the main actor.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: Queues.main) { job.run() } }
  /// Reaches the main actor's turns.
  public var _target: _HandlerTarget { _HandlerTarget(scheduler: MainScheduler.shared) }
}

/// Runs handlers on an actor, one at a time and in order.
public struct ActorExecutor: PromiseExecutor {
  let actor: any Actor

  /// Has the job run on the actor.
  public func enqueue(_ job: PromiseJob) { ActorScheduler.hop(to: actor) { job.run() } }
  /// Reaches the actor's turns.
  public var _target: _HandlerTarget { _HandlerTarget(isolation: actor) }
}

extension PromiseExecutor where Self == ImmediateExecutor {
  /// Runs handlers in place, on whichever thread settles the promise.
  @inlinable public static var immediate: ImmediateExecutor { ImmediateExecutor() }
}

extension PromiseExecutor where Self == GlobalExecutor {
  /// Runs handlers on the global concurrent queue.
  public static var global: GlobalExecutor { GlobalExecutor() }
}

extension PromiseExecutor where Self == MainExecutor {
  /// Runs handlers on the main actor.
  public static var main: MainExecutor { MainExecutor() }
}

extension PromiseExecutor where Self == ActorExecutor {
  /// Runs handlers on `actor`.
  public static func actor(_ actor: any Actor) -> ActorExecutor { ActorExecutor(actor: actor) }
}

extension DispatchQueue: PromiseExecutor {
  /// Has the job run on this queue.
  public func enqueue(_ job: PromiseJob) { async { job.run() } }
  /// Reaches this queue's turns.
  public var _target: _HandlerTarget {
    MainThread.isServed(by: self)
      ? _HandlerTarget(scheduler: MainScheduler.shared) : _HandlerTarget(queue: self)
  }
}
