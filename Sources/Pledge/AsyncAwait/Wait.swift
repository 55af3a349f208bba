import Dispatch

/// The error of a blocking ``Thenable/wait()`` in a place where it could never return.
public struct DeadlockError: Error, Sendable, CustomStringConvertible {
  /// A description of why the thread can't wait, and what to do instead.
  public let description: String
}

extension Thenable {
  /// Blocks the calling thread until the promise has settled; returns the value or throws the
  /// error.
  ///
  /// Use this in programs and tests that aren't asynchronous; elsewhere, use
  /// `try await promise.value`. If the promise is pending, this throws ``DeadlockError`` in a task,
  /// on an event loop, in a step of an exploration, and on an actor or a queue on which the promise
  /// still needs to run a closure; anywhere else, it waits.
  ///
  /// In other words, it depends on where you call it, and never on timing:
  ///
  /// - **In a task,** which includes handlers on an actor other than the main actor, it would block a
  ///   thread that all tasks share. To read a promise that has settled, use ``Promise/currentResult``.
  /// - **On an event loop** of NIOPosix, once the program has used PledgeNIO, it would block every
  ///   channel of the loop.
  /// - **In a step of an exploration** by PledgeTesting, it would block the thread of all steps.
  /// - **On an actor or a queue that the promise needs:** one of the handlers that the promise depends on
  ///   when you call this method would run on the main thread, the actor, or the thread of a
  ///   ``TurnExecutor`` that calls it, on the queue of the handler that calls it, or is that handler. Any `DispatchQueue` but the global ones counts
  ///   as serial. In a block of your own on a queue, the queue isn't known; nor are the threads of a
  ///   ``PromiseExecutor`` of your own.
  ///
  /// What the promise comes to depend on later isn't known: a promise that a handler returns, an
  /// `async` closure that hasn't started, what such a closure awaits, the inputs of a race, the
  /// promise that a resolver follows, the operation of a policy, or a queue that targets the blocked
  /// queue.
  @available(*, noasync, message: "blocks a thread; use `try await promise.value`")
  public func wait() throws -> Value {
    let cell = source.cell
    if !cell.isSettled { try BlockingWait(for: cell).run() }
    let result: Result<Value, any Error> = cell.handledResult()
    return try result.get()
  }
}

/// Places in which no thread may block, besides tasks.
package enum BlockingPlaces {
  private static let checks = Mutex<[@Sendable () -> String?]>([])

  /// Adds a check that returns a description of the place if the current thread must not block.
  package static func add(_ check: @escaping @Sendable () -> String?) {
    checks.withLock { $0.append(check) }
  }

  fileprivate static var current: String? {
    if withUnsafeCurrentTask(body: { $0 != nil }) { return "in a task" }
    for check in checks.withLock({ $0 }) {
      if let place = check() { return place }
    }
    return nil
  }
}

/// A thread's wait for a cell.
private struct BlockingWait {
  private let cell: Cell
  private let state = ThreadState.current

  init(for cell: Cell) { self.cell = cell }

  func run() throws {
    // The promise might need jobs that wait for this thread's stack to unwind.
    Delivery.runPendingInPlace(state)
    if cell.isSettled { return }
    if let place = BlockingPlaces.current {
      throw DeadlockError(
        description: """
          wait() must not be called \(place): it would block a thread that other work needs. Use \
          `await` or `then`, or `currentResult` if the promise has settled.
          """)
    }
    if needsThisPlace() {
      throw DeadlockError(
        description: """
          wait() would never return: the promise needs a closure to run on the executor that \
          wait() blocks. Return the promise from `then`, use `await`, or run that closure elsewhere \
          with `on:`.
          """)
    }
    let semaphore = ThreadSemaphore()
    let handler = Handler(
      .observer, of: cell, on: .inPlace, body: nil, run: { _, _ in semaphore.signal() })
    cell.attach(handler)
    Instrumentation.note(handler, .waitStarted(isOnMain: MainThread.isCurrent))
    semaphore.wait()
    Instrumentation.note(handler, .waitEnded)
  }

  /// Whether a closure that the cell depends on now would run where the current thread is.
  private func needsThisPlace() -> Bool { cell.dependsOnRunningHandler(state, orPlace: isHere) }

  private func isHere(_ place: HandlerTarget) -> Bool {
    guard let object = place.object else { return false }
    guard let scheduler = place.scheduler else {
      return place.isCurrent(state) && !Queues.isGlobal(object)
    }
    if place.isCurrent(state) || scheduler.occupiesCurrentThread { return true }
    guard let queue = scheduler.dispatchQueue?.takeUnretainedValue() else { return false }
    return isHere(HandlerTarget(queue, .queue))
  }
}

extension Cell {
  /// Whether this cell depends on the handler that the current thread is running, or on a closure
  /// that would run in a place that `isBlocked`.
  final func dependsOnRunningHandler(
    _ state: UnsafeMutablePointer<ThreadState>, orPlace isBlocked: (HandlerTarget) -> Bool
  ) -> Bool {
    let running = state.pointee.running?.toOpaque()
    return depends(
      on: { running == Unmanaged.passUnretained($0).toOpaque() }, orPlace: isBlocked)
  }
}
