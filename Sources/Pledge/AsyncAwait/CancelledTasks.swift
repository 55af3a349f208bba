/// The tasks that one call of `cancel()` cancels.
///
/// Cancellation rejects a promise immediately, but the task that would settle it ends only when its
/// operation responds. Code that waits for that end collects the tasks while it cancels.
final class CancelledTasks: Sendable {
  // Only the call of `cancel()`, and what it calls itself, has this value.
  @TaskLocal private static var current: CancelledTasks?

  /// The tasks; nil after `cancel()` has returned.
  private let tasks = Mutex<[Task<Void, Never>]?>([])

  private init() {}

  /// Records that the current call of `cancel()` has cancelled `task`.
  static func note(_ task: Task<Void, Never>) {
    current?.tasks.withLock { $0?.append(task) }
  }

  /// Calls `cancel` and returns the tasks that it has cancelled.
  static func collect(_ cancel: () -> Void) -> [Task<Void, Never>] {
    let tasks = CancelledTasks()
    $current.withValue(tasks) { cancel() }
    return tasks.tasks.withLock { exchange(&$0, with: nil) } ?? []
  }
}

extension [Task<Void, Never>] {
  /// Returns a guarantee that is fulfilled after `end`, when all of these tasks have ended.
  func ended(after end: Guarantee<Void>) -> Guarantee<Void> {
    if isEmpty { return end }
    return Guarantee {
      for task in self { await task.value }
      await end.value
    }
  }
}
