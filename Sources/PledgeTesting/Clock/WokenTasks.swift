import Pledge

/// Runs the tasks that a clock wakes on the thread that wakes them, up to their next suspension.
///
/// A resumed continuation is enqueued on the executor that its task prefers. While a task sleeps,
/// `TestClock.sleep` makes this executor the preferred one, which runs the job as the global
/// concurrent executor would. A task of the global executor therefore continues without a hop: when
/// its job returns, the task has suspended or ended. If the task is isolated to an actor, or
/// prefers another executor, its job enqueues it there, and it continues later.
///
/// Jobs from other threads, such as those of cancelled sleeps, run on the global executor.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class WokenTasks: TaskExecutor {
  /// A call of `runInPlace`, and the jobs to run in it.
  private struct Visit {
    let thread: ThreadID
    var jobs: [UnownedJob] = []
  }

  private let visits = Mutex<[Visit]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isKept = visits.withLock { visits in
      guard let visit = visits.lastIndex(where: { $0.thread == .current }) else { return false }
      visits[visit].jobs.append(job)
      return true
    }
    if !isKept { globalConcurrentExecutor.enqueue(job) }
  }

  /// Calls `wake`, and then runs on this thread the tasks that it resumes, and those that they
  /// resume, until all of them are idle.
  func runInPlace(_ wake: () -> Void) {
    visits.withLock { $0.append(Visit(thread: .current)) }
    wake()
    while let job = nextJob() {
      job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor())
    }
  }

  /// Returns the next job of this thread's visit; ends the visit if there is none.
  private func nextJob() -> UnownedJob? {
    visits.withLock { visits in
      guard let visit = visits.lastIndex(where: { $0.thread == .current }) else { return nil }
      if !visits[visit].jobs.isEmpty { return visits[visit].jobs.removeFirst() }
      visits.remove(at: visit)
      return nil
    }
  }
}
