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
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class WokenTasks: TaskExecutor {
  /// A thread inside of `runInPlace`, and what it has to run there.
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

  /// Calls `wake`, and runs on this thread the tasks that it resumes, and what they resume, until
  /// all of them are idle.
  func runInPlace(_ wake: () -> Void) {
    visits.withLock { $0.append(Visit(thread: .current)) }
    wake()
    while let job = nextJob() {
      job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor())
    }
  }

  /// The next job of this thread's visit; if there is none, the visit ends.
  private func nextJob() -> UnownedJob? {
    visits.withLock { visits in
      guard let visit = visits.lastIndex(where: { $0.thread == .current }) else { return nil }
      if !visits[visit].jobs.isEmpty { return visits[visit].jobs.removeFirst() }
      visits.remove(at: visit)
      return nil
    }
  }
}
