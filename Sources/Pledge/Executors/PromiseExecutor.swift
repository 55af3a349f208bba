import Dispatch

/// A type that runs the handlers of promises.
///
/// `DispatchQueue` and the executors `.immediate`, `.global`, and `.actor(_:)` conform. To
/// run handlers somewhere else, conform your own type:
///
/// ```swift
/// struct LoopExecutor: PromiseExecutor {
///   let loop: MyLoop
///   func enqueue(_ job: PromiseJob) { loop.execute { job.run() } }
/// }
/// ```
public protocol PromiseExecutor: Sendable {
  /// Schedules `job` to run once, soon, and after this call has returned.
  ///
  /// If jobs run in the order in which they're enqueued, handlers run in the order in which they
  /// were attached. A job that's discarded without running rejects its promise with
  /// ``BrokenPromiseError``.
  func enqueue(_ job: PromiseJob)
}

/// A handler for an executor to run.
public struct PromiseJob: Sendable {
  private let token: Token

  init(_ job: Job) { token = Token(job) }

  /// Runs the handler.
  ///
  /// Only the first call has an effect. Don't call this method inside the executor's `enqueue`
  /// method: the handler then runs in place, or, if handlers are nested too deeply, after the
  /// outermost one has returned.
  public func run() {
    token.run()
  }

  private final class Token: Sendable {
    let job: Job
    // Not a flag of the handler, which can wait again for the promise that its closure returned.
    let hasRun = AtomicFlag(false)

    init(_ job: Job) { self.job = job }

    func run() {
      if hasRun.exchange(true, ordering: .acquiringAndReleasing) { return }
      let state = ThreadState.current
      let job = job
      if state.pointee.enqueueDepth > 0 {
        let work = ClosureJob { job.perform(ThreadState.current, isInPlace: false) }
        Trampoline.perform(work, state)
      } else {
        job.perform(state, isInPlace: false)
      }
    }

    // After the executor's `enqueue` has returned and the other handlers have been delivered,
    // because handlers in place of the rejected promise can wait for those.
    deinit {
      if hasRun.load(ordering: .acquiring) { return }
      job.dropAfterEnqueue()
    }
  }
}

// MARK: - Built-in executors

/// Runs handlers in place: inside the call that settles the promise, or, if the promise has already
/// settled, inside the call that attaches the handler.
///
/// If such a handler settles another promise, the handlers in place of that promise run inside it,
/// up to 24 levels deep; deeper handlers run after the outermost one has returned. If a timer of
/// the continuous clock settles the promise, handlers run on a thread of the library, and can block it.
@frozen public struct ImmediateExecutor: PromiseExecutor {
  @inlinable init() {}

  /// Runs the job on the current thread.
  public func enqueue(_ job: PromiseJob) { job.run() }

  /// Runs the handlers in place that are waiting for this thread's stack to unwind.
  ///
  /// These are the handlers that were deferred because they were nested too deeply, and the
  /// remaining handlers of promises whose handlers are running. Call this method before you block
  /// the thread until a promise settles, for example by running a run loop: the promise may depend
  /// on one of these handlers. ``Thenable/wait()`` does the same.
  ///
  /// - Complexity: O(1) if no handlers are waiting.
  @_spi(DropIns)
  public static func runDeferredHandlers() {
    Delivery.runPendingInPlace(ThreadState.current)
  }
}

/// Runs handlers concurrently on the global queue.
public struct GlobalExecutor: PromiseExecutor {
  /// Schedules the job on the global concurrent queue.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: Queues.global) { job.run() } }
}

/// Runs handlers on an actor, one at a time and in order.
public struct ActorExecutor: PromiseExecutor {
  let actor: any Actor

  /// Schedules the job on the actor.
  public func enqueue(_ job: PromiseJob) {
    ActorScheduler.hop(to: actor, Task.currentPriority) { job.run() }
  }
}

extension PromiseExecutor where Self == ImmediateExecutor {
  /// An executor that runs handlers in place, on the thread that settles the promise.
  @inlinable public static var immediate: ImmediateExecutor { ImmediateExecutor() }
}

extension PromiseExecutor where Self == GlobalExecutor {
  /// An executor that runs handlers on the global concurrent queue.
  public static var global: GlobalExecutor { GlobalExecutor() }
}

extension PromiseExecutor where Self == ActorExecutor {
  /// Returns an executor that runs handlers on `actor`.
  public static func actor(_ actor: any Actor) -> ActorExecutor { ActorExecutor(actor: actor) }
}

/// Returns the executor that runs closures with this isolation.
package func executor(for isolation: (any Actor)?) -> any PromiseExecutor {
  isolation.map { ActorExecutor(actor: $0) } ?? GlobalExecutor()
}

extension DispatchQueue: PromiseExecutor {
  /// Submits the job to this queue.
  public func enqueue(_ job: PromiseJob) { Queues.async(on: self) { job.run() } }
}
