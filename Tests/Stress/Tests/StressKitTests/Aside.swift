import Foundation
import Testing

/// Runs `body` on a new thread, because it blocks, and the tasks that it waits for need the threads
/// on which tests run.
func aside<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

/// All tests of this package, serialized because they use all cores and number their programs.
@Suite(.serialized) enum StressTests {}
