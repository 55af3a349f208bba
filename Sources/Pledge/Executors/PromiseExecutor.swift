import Dispatch

/// A type that runs the handlers of promises.
///
/// `DispatchQueue` conforms, and so do the executors `.main`, `.immediate`, `.global` and
/// `.actor(_:)`. To run handlers somewhere else, conform your own type:
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
  /// which they were attached. A job that is discarded without having run rejects its promise with
  /// ``BrokenPromiseError``.
  func enqueue(_ job: PromiseJob)
}

/// A handler that an executor is to run.
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
final class DroppedJob: Job, @unchecked Sendable {
  private let job: Job

  init(_ job: Job) { self.job = job }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    (job as? Handler)?.breakUncalled()
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

  /// Runs the job on the current thread.
  public func enqueue(_ job: PromiseJob) { job.run() }

  /// Runs the handlers in place that this thread would run next: those that it has deferred because
  /// they nest too deep, and those of the same promise as one that is running.
  ///
  /// Call it before a blocking call of your own waits for a promise, such as one that runs a run loop:
  /// if handlers in place are on the thread's stack, the promise may need another one.
  /// ``Promise/wait()`` does the same.
  ///
  /// - Complexity: O(1) if there are none.
  public static func runDeferredHandlers() {
    Delivery.runPendingInPlace(ThreadState.current)
  }
}

/// Runs handlers on the global concurrent queue, several at a time.
public struct GlobalExecutor: PromiseExecutor {
  @usableFromInline static var queue: DispatchQueue { Queues.global }

  /// Runs the job on the global concurrent queue.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: Queues.global) { job.run() } }
}

/// Runs handlers on the main actor, which is the main thread.
public struct MainExecutor: PromiseExecutor {
  /// Runs the job on the main actor.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: Queues.main) { job.run() } }
}

/// Runs handlers on an actor, one at a time and in order.
public struct ActorExecutor: PromiseExecutor {
  let actor: any Actor

  /// Runs the job on the actor.
  public func enqueue(_ job: PromiseJob) { ActorScheduler.hop(to: actor) { job.run() } }
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

/// The executor of closures with this isolation.
package func executor(for isolation: (any Actor)?) -> any PromiseExecutor {
  isolation.map { ActorExecutor(actor: $0) } ?? GlobalExecutor()
}

extension DispatchQueue: PromiseExecutor {
  /// Runs the job on this queue.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: self) { job.run() } }
}
