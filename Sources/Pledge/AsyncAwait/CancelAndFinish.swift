extension Promise {
  /// Cancels this promise, and returns a guarantee that is fulfilled when its work has ended: the
  /// promise has settled, and so have all tasks that this call cancelled, and all cleanups.
  ///
  /// ```swift
  /// await download.cancelAndFinish().value
  /// ```
  ///
  /// Cancellation rejects a promise immediately; the task that would have settled it may run for
  /// longer, and the cleanup of `asyncFinally` and `finallyThen` isn't cancelled. A producer without a
  /// task, which settles its promise with a resolver, has ended when its `onCancel` handlers have
  /// returned. Work that has other consumers isn't cancelled, and not waited for.
  ///
  /// Don't await the guarantee in the work itself, or in its cleanups: it would wait for its own end.
  @discardableResult
  public func cancelAndFinish() -> Guarantee<Void> {
    let work = RemainingWork.collect { cancel() }
    return (work + [.promise(cell)]).ended()
  }
}

extension [RemainingWork] {
  /// Returns a guarantee that is fulfilled when all of this work has ended, and what remains after it.
  func ended() -> Guarantee<Void> {
    if allSatisfy(\.hasEnded) { return .value(()) }
    return Guarantee {
      var work = self
      // A cleanup that waits for its own promise passes on a rejection that names it. Retained, so
      // that no other cell gets the address of one of these.
      var seen: [ObjectIdentifier: Cell] = [:]
      while let next = work.popLast() {
        switch next {
        case .task(let task): await task.value
        case .promise(let job):
          let cell = unsafeDowncast(job, to: Cell.self)
          guard seen.updateValue(cell, forKey: ObjectIdentifier(cell)) == nil else { continue }
          await cell.settlement().value
          work += cell.rejection?.remainingWork ?? []
        }
      }
    }
  }
}

extension RemainingWork {
  fileprivate var hasEnded: Bool {
    if case .promise(let job) = self { return unsafeDowncast(job, to: Cell.self).hasEnded }
    return false
  }
}

extension Cell {
  /// Returns a guarantee that is fulfilled when this cell has settled, without being its consumer.
  func settlement() -> Guarantee<Void> {
    let (end, resolver) = Guarantee<Void>.withResolvers()
    watchUntraced { _ in resolver.fulfill() }
    return end
  }
}
