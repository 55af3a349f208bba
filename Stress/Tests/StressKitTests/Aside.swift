import Foundation
import Testing

/// Runs `body` on a thread of its own: it blocks, and the tasks that it waits for need the threads
/// on which tests run.
func aside<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

/// All tests of this package, in turn: they fill the cores, and programs are numbered.
@Suite(.serialized) enum StressTests {}
