import Dispatch

/// The error of a blocking ``Promise/wait()`` that would never return.
public struct DeadlockError: Error, Sendable, CustomStringConvertible {
  /// Says which thread waits for what.
  public let description: String
}

extension Promise {
  /// Blocks the calling thread until the promise has settled; returns the value or throws the error.
  ///
  /// For programs and tests that are not asynchronous; elsewhere use `try await promise.value`. A
  /// wait that can be seen to deadlock throws ``DeadlockError`` instead: one on the main thread for
  /// a handler that needs the main thread, and one inside a handler for a promise that needs that
  /// very handler, or its serial executor, to go on.
  @available(*, noasync, message: "blocks a thread; use `try await promise.value`")
  public func wait() throws -> Value {
    let before = cell.visibleRoot
    if before.isSettledRoot { return try before.handledResult().get() }
    if let obstacle = cell.root.obstacleForThisThread() { throw obstacle }
    let semaphore = DispatchSemaphore(value: 0)
    cell.attach(
      Handler(
        input: 0, source: cell, target: nil, body: nil, run: { _, _ in semaphore.signal() }))
    Tracing.note(cell.root, .waitStarted)
    semaphore.wait()
    Tracing.note(cell.root, .waitEnded)
    return try cell.visibleRoot.handledResult().get()
  }
}

extension Guarantee {
  /// Blocks the calling thread until the guarantee is fulfilled.
  ///
  /// See ``Promise/wait()``.
  @available(*, noasync, message: "blocks a thread; use `await guarantee.value`")
  public func wait() throws -> Value { try promise.wait() }
}

extension Cell {
  /// What makes a blocking wait for this cell on this thread hopeless, if anything does.
  ///
  /// Follows what the cell waits for, as far up as it goes.
  fileprivate final func obstacleForThisThread() -> DeadlockError? {
    let state = ThreadState.current
    let busy = state.pointee.scheduler?.takeUnretainedValue()
    let queue = state.pointee.turn.queue?.takeUnretainedValue()
    let isMain = MainThread.isCurrent
    var cell = self
    while cell.pinUnlessTaken() {
      let source = cell.slot
      let flags = cell.input.load(ordering: .acquiring)
      cell.unpin()
      guard flags & Input.handler != 0, let source else { return nil }
      let target = unsafeDowncast(cell, to: Handler.self).target?.takeUnretainedValue()
      if let target, flags & (Input.wantsValue | Input.wantsRejection) != 0 {
        if isMain, target === MainScheduler.shared {
          return DeadlockError(
            description: """
              wait() on the main thread for a promise whose handlers run on the main thread would \
              never return. Use `await`, or run the handlers elsewhere with `on:`.
              """)
        }
        if target === busy
          || (target === queue && flags & Input.queueTarget != 0 && QueueTurn.holdsUp(target))
        {
          return DeadlockError(
            description: """
              wait() inside a handler for a promise whose handlers run on the same executor would \
              never return. Return the promise from `then` instead of waiting for it.
              """)
        }
      }
      cell = unsafeDowncast(source, to: Cell.self)
    }
    // A handler runs, or is about to: is it the one that is waiting here?
    if let running = state.pointee.running,
      running.toOpaque() == Unmanaged.passUnretained(cell).toOpaque()
    {
      return DeadlockError(
        description: """
          wait() inside a handler for the promise that this handler shall settle would never \
          return. Return the promise from `then` instead of waiting for it.
          """)
    }
    return nil
  }
}
