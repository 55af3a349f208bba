import Pledge

/// Runs the tasks that a clock wakes on the thread that wakes them, up to their next suspension.
///
/// A resumed continuation goes to the executor that its task prefers. `TestClock.sleep` makes that
/// executor this one while the task sleeps, and here the job is run as the global concurrent
/// executor would run it. So the task takes up that executor, its own, without a hop: when its job
/// returns, the task has suspended or ended. A task that is isolated to an actor, or prefers
/// another executor, is sent there by its job; it goes on later.
///
/// Jobs from other threads, such as a cancelled sleep's, go to the global executor.
final class WokenTasks: TaskExecutor {
  private struct State {
    /// The thread that is inside of `runInPlace`.
    var thread: ThreadID?
    var jobs: [UnownedJob] = []
  }

  private let state = Mutex(State())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isKept = state.withLock { state in
      guard state.thread == .current else { return false }
      state.jobs.append(job)
      return true
    }
    if !isKept { globalConcurrentExecutor.enqueue(job) }
  }

  /// Calls `wake`, and runs on this thread the tasks that it resumes, and what they resume, until
  /// all of them are idle.
  ///
  /// Two threads must not call it at a time.
  func runInPlace(_ wake: () -> Void) {
    state.withLock { $0.thread = .current }
    wake()
    while let job = nextJob() {
      job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor())
    }
  }

  /// The next job; if there is none, this thread has nothing more to do with the woken tasks.
  private func nextJob() -> UnownedJob? {
    state.withLock { state in
      if !state.jobs.isEmpty { return state.jobs.removeFirst() }
      state.thread = nil
      return nil
    }
  }
}
