import Foundation
import Pledge

/// The tasks that wait for a condition that another task makes true.
final class ChangeWaiters: Sendable {
  private struct Waiter {
    let isDue: @Sendable () -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private let waiters = Mutex<[UUID: Waiter]>([:])

  /// Suspends until `isDue` is true, or the task is cancelled.
  ///
  /// `isDue` is called in this task, and in ``tell()``; never under a lock.
  func wait(until isDue: @escaping @Sendable () -> Bool) async {
    let id = UUID()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiters.withLock { $0[id] = Waiter(isDue: isDue, continuation: continuation) }
        // A condition that became true before the waiter existed wasn't reported.
        if isDue() || Task.isCancelled { resume(id) }
      }
    } onCancel: {
      resume(id)
    }
  }

  /// Resumes the tasks whose condition has become true.
  ///
  /// Call it after each change that can make a condition true.
  func tell() {
    for (id, waiter) in waiters.withLock({ $0 }) where waiter.isDue() { resume(id) }
  }

  private func resume(_ id: UUID) {
    waiters.withLock { $0.removeValue(forKey: id) }?.continuation.resume()
  }
}
