import Dispatch

// Tasks whose code runs on a queue, for the modules that are based on Pledge.

#if compiler(>=6.2)
  extension Task where Success == Void, Failure == Never {
    /// Creates a task that starts in a handler of `promise` on `queue`, and whose code runs there, apart
    /// from that of functions with an isolation of their own.
    ///
    /// So the task starts in the order of handlers, and the thread that resumes it enqueues its next part.
    /// Before macOS 15 and iOS 18, another thread enqueues each part. If the promise will never settle, the
    /// operation is released without a call, and the task ends.
    @_spi(DropIns)
    public static func held<Value>(
      on queue: DispatchQueue, until promise: Promise<Value>,
      _ operation: nonisolated(nonsending) @escaping () async -> Void
    ) -> Task {
      guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
        return heldByActor(on: queue, until: promise, operation)
      }
      let operation = HeldOperation(operation)
      let executor = QueueTaskExecutor(queue)
      let task = Task.detached(executorPreference: executor) { await operation.run() }
      TaskStart(executor.jobs, operation).wait(for: promise)
      return task
    }

    /// The same for systems on which tasks can't prefer an executor.
    static func heldByActor<Value>(
      on queue: DispatchQueue, until promise: Promise<Value>,
      _ operation: nonisolated(nonsending) @escaping () async -> Void
    ) -> Task {
      let operation = HeldOperation(operation)
      let actor = QueueIsolation(queue)
      let task = Task.detached { await actor.run(operation) }
      TaskStart(actor.executor.jobs, operation).wait(for: promise)
      return task
    }
  }

  /// The operation of a task that hasn't started.
  ///
  /// `@unchecked Sendable`: `stored` is guarded by the order of the calls: that of `run` by the task, which
  /// doesn't start before the last reference to `TaskStart` is gone or has started it.
  private final class HeldOperation: @unchecked Sendable {
    /// A struct, because an optional closure of this type needs the runtime of macOS 15.
    private struct Stored {
      let body: nonisolated(nonsending) () async -> Void
    }

    private var stored: Stored?

    init(_ body: nonisolated(nonsending) @escaping () async -> Void) {
      stored = Stored(body: body)
    }

    nonisolated(nonsending) func run() async { await exchange(&stored, with: nil)?.body() }

    func discard() { stored = nil }
  }

  /// The start of a task, which belongs to a handler.
  private final class TaskStart: Sendable {
    private let jobs: HeldJobs
    private let operation: HeldOperation
    private let isDone = AtomicFlag(false)

    init(_ jobs: HeldJobs, _ operation: HeldOperation) {
      self.jobs = jobs
      self.operation = operation
    }

    /// Runs the first part of the task in a handler of `promise` on its queue.
    func wait<Value>(for promise: Promise<Value>) {
      promise.observe(on: jobs.queue) { [self] _ in
        isDone.store(true, ordering: .relaxed)
        jobs.start { job in job() }
      }
    }

    // The handler will never run, so the task ends.
    deinit {
      if isDone.load(ordering: .relaxed) { return }
      operation.discard()
      jobs.start { job in jobs.queue.async(execute: job) }
    }
  }

  /// Enqueues the jobs of a task on a queue; not the first one before the task starts.
  private final class HeldJobs: Sendable {
    typealias Job = @Sendable () -> Void

    private enum State {
      case empty
      case held(Job)
      case started
    }

    let queue: DispatchQueue
    private let state = Mutex(State.empty)

    init(_ queue: DispatchQueue) { self.queue = queue }

    func add(_ job: @escaping Job) {
      let isHeld = state.withLock { state in
        if case .started = state { return false }
        state = .held(job)
        return true
      }
      if !isHeld { queue.async(execute: job) }
    }

    /// Enqueues jobs from now on, and calls `run` with the first one, if it is there.
    func start(_ run: (@escaping Job) -> Void) {
      let job: Job? = state.withLock { state in
        defer { state = .started }
        if case .held(let job) = state { return job }
        return nil
      }
      if let job { run(job) }
    }
  }

  @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
  private final class QueueTaskExecutor: TaskExecutor {
    let jobs: HeldJobs

    init(_ queue: DispatchQueue) { jobs = HeldJobs(queue) }

    func enqueue(_ job: UnownedJob) {
      jobs.add { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  /// The isolation of one task, where tasks can't prefer an executor. With one task, only one job is
  /// enqueued at a time, so that the queue can be concurrent.
  private actor QueueIsolation {
    final class Executor: SerialExecutor {
      let jobs: HeldJobs

      init(_ queue: DispatchQueue) { jobs = HeldJobs(queue) }

      func enqueue(_ job: UnownedJob) {
        jobs.add { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
      }

      // The default implementation needs macOS 14.
      func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
      }
    }

    let executor: Executor

    init(_ queue: DispatchQueue) { executor = Executor(queue) }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(_ operation: HeldOperation) async {
      enter()
      await operation.run()
    }

    /// Makes the compiler switch to this executor: it doesn't for the sake of a call that inherits the
    /// isolation.
    @inline(never) @_optimize(none) private func enter() {}
  }
#endif
