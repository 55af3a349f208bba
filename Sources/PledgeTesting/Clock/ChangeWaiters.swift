import Pledge

/// The tasks that wait for a condition that another task makes true.
final class ChangeWaiters: Sendable {
  private struct Waiter {
    let isDue: @Sendable () -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var waiters: [Int: Waiter] = [:]
    var nextID = 0
  }

  private let state = Mutex(State())

  /// Suspends until `isDue` is true, or the task is cancelled.
  ///
  /// `isDue` is called in this task, and in ``tell()``; never under a lock.
  func wait(until isDue: @escaping @Sendable () -> Bool) async {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock {
          $0.waiters[id] = Waiter(isDue: isDue, continuation: continuation)
        }
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
    let waiters = state.withLock { $0.waiters }
    for (id, waiter) in waiters where waiter.isDue() { resume(id) }
  }

  private func resume(_ id: Int) {
    state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
  }
}
