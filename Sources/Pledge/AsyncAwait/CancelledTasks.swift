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
  /// for; neither is the cleanup of `asyncFinally` and `finallyThen`, which isn't cancelled.
  @discardableResult
  public func cancelAndFinish() -> Guarantee<Void> {
    let (end, resolver) = Guarantee<Void>.withResolvers()
    cell.attach(
      Handler(
        .watchingObserver, of: cell, on: .inPlace, body: nil, run: { _, _ in resolver.fulfill() }))
    return CancelledTasks.collect { cancel() }.ended(after: end)
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
