extension Promise {
  /// Cancels this promise, and returns a guarantee that is fulfilled when its work has ended: the
  /// promise has settled, and all tasks that this call cancelled have ended.
  ///
  /// ```swift
  /// await download.cancelAndFinish().value
  /// ```
  ///
  /// Cancellation rejects a promise immediately; the task that would have settled it may run for
  /// longer. A producer without a task, which settles its promise with a resolver, has ended when its
  /// `onCancel` handlers have returned. Work that has other consumers isn't cancelled, and not waited
  /// for.
  @discardableResult
  public func cancelAndFinish() -> Guarantee<Void> {
    let (end, resolver) = Guarantee<Void>.withResolvers()
    cell.attach(
      Handler(
        .watchingObserver, of: cell, on: .inPlace, body: nil, run: { _, _ in resolver.fulfill() }))
    return CancelledTasks.collect { cancel() }.ended(after: end)
  }
}

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

  /// Calls `cancel` and returns the tasks that it has cancelled, which an enclosing call returns, too.
  static func collect(_ cancel: () -> Void) -> [Task<Void, Never>] {
    let collector = CancelledTasks()
    $current.withValue(collector) { cancel() }
    let tasks = collector.tasks.withLock { exchange(&$0, with: nil) } ?? []
    for task in tasks { note(task) }
    return tasks
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
