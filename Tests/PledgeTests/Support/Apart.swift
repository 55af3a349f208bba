/// Runs tests that compute for long, or block their thread, on a queue that only these tests share.
///
/// Otherwise, they would block the few threads of the concurrency pool for all other tests.
struct Apart: TestTrait, SuiteTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(QueueOfTests.shared) { try await function() }
  }
}

extension Trait where Self == Apart { static var apart: Self { Apart() } }

/// Runs tasks on one serial queue.
final class QueueOfTests: TaskExecutor {
  static let shared = QueueOfTests()

  private let queue = DispatchQueue(label: "pledge.tests.apart")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
