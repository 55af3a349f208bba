import Dispatch

// Tasks whose code runs on a queue, for the modules that are based on Pledge.

#if compiler(>=6.2)
  extension Task where Success == Void, Failure == Never {
    /// Creates a task whose code runs on `queue`, apart from that of functions with an isolation of
    /// their own, from when `start` is called.
    ///
    /// The task is enqueued on the queue by the thread that calls `start`, and then by the threads that
    /// resume it, as handlers are by the threads that settle their promises. Before macOS 15 and iOS
    /// 18, other threads enqueue it.
    @_spi(DropIns)
    public static func held(
      on queue: DispatchQueue,
      _ operation: nonisolated(nonsending) @escaping () async -> Void
    ) -> (task: Task, start: @Sendable () -> Void) {
      // `nonisolated(unsafe)`: called once, by the task.
      nonisolated(unsafe) let operation = operation
      if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
        let executor = QueueTaskExecutor(queue)
        let task = Task.detached(executorPreference: executor) { await operation() }
        return (task, { executor.jobs.start() })
      }
      let actor = QueueIsolation(queue)
      return (Task.detached { await actor.run(operation) }, { actor.start() })
    }
  }

  /// Enqueues the jobs of a task on a queue; the first one when it is asked to start.
  private final class HeldJobs: Sendable {
    private enum State {
      case empty
      case held(@Sendable () -> Void)
      case started
    }

    private let queue: DispatchQueue
    private let state = Mutex(State.empty)

    init(_ queue: DispatchQueue) { self.queue = queue }

    func add(_ job: @escaping @Sendable () -> Void) {
      let isHeld = state.withLock { state in
        if case .started = state { return false }
        state = .held(job)
        return true
      }
      if !isHeld { queue.async(execute: job) }
    }

    func start() {
      let job: (@Sendable () -> Void)? = state.withLock { state in
        defer { state = .started }
        if case .held(let job) = state { return job }
        return nil
      }
      if let job { queue.async(execute: job) }
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
  actor QueueIsolation {
    fileprivate final class Executor: SerialExecutor {
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

    fileprivate let executor: Executor

    init(_ queue: DispatchQueue) { executor = Executor(queue) }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func start() { executor.jobs.start() }

    func run(_ operation: nonisolated(nonsending) () async -> Void) async {
      enter()
      await operation()
    }

    /// Makes the compiler switch to this executor: it doesn't for the sake of a call that inherits the
    /// isolation.
    @inline(never) @_optimize(none) private func enter() {}
  }
#endif
