import Dispatch

/// The error of a blocking ``Promise/wait()`` that would never return.
public struct DeadlockError: Error, Sendable, CustomStringConvertible {
  /// A description of what the thread waits for, and how to avoid the deadlock.
  public let description: String
}

extension Promise {
  /// Blocks the calling thread until the promise has settled; returns the value or throws the
  /// error.
  ///
  /// Use this in programs and tests that aren't asynchronous; elsewhere, use
  /// `try await promise.value`. If a deadlock is detected, this throws ``DeadlockError`` instead:
  /// when the main thread waits for a handler that needs the main thread, and when a handler waits
  /// for a promise that needs that handler, or its serial executor, to continue. What an `async`
  /// closure awaits, a promise passed to ``Resolver/resolve(with:)``, and a handler of another actor
  /// that shares the executor, or of an actor on the main actor's executor, isn't checked.
  @available(*, noasync, message: "blocks a thread; use `try await promise.value`")
  public func wait() throws -> Value {
    if !cell.isSettled { try BlockingWait(for: cell).run() }
    return try cell.handledResult().get()
  }
}

extension Guarantee {
  /// Blocks the calling thread until the guarantee is fulfilled.
  ///
  /// See ``Promise/wait()``.
  @available(*, noasync, message: "blocks a thread; use `await guarantee.value`")
  public func wait() throws -> Value { try base.wait() }
}

/// A thread's wait for a cell.
private struct BlockingWait {
  private let cell: Cell
  private let semaphore = ThreadSemaphore()
  private let state = ThreadState.current

  init(for cell: Cell) { self.cell = cell }

  func run() throws {
    // The promise might need jobs that wait for this thread's stack to unwind.
    Delivery.runPendingInPlace(state)
    if cell.isSettled { return }
    if let objection = BlockingChecks.objection() { throw DeadlockError(description: objection) }
    if let error = certainDeadlock() { throw error }
    let handler = Handler(
      input: Cell.Input.hearsAbandonment, source: cell, target: nil, body: nil,
      run: { [semaphore] _, _ in semaphore.signal() })
    cell.attach(handler)
    Instrumentation.note(cell, .waitStarted)
    defer { Instrumentation.note(cell, .waitEnded) }
    if !mayDeadlock { return semaphore.wait() }
    var probe: QueueProbe?
    var milliseconds = 1
    while !semaphore.wait(milliseconds: milliseconds) {
      if let error = deadlock(&probe), !cell.isSettled {
        handler.removeKeeping()
        throw error
      }
      milliseconds = min(milliseconds * 2, 50)
    }
  }

  /// Whether this thread occupies an executor that the promise might need.
  private var mayDeadlock: Bool {
    state.pointee.scheduler != nil || state.pointee.turn.queue != nil || MainThread.isCurrent
      || BlockingChecks.hasExecutorWithThread
  }

  /// The error if the wait can't end because the handler that waits must settle the promise.
  private func certainDeadlock() -> DeadlockError? {
    guard let running = state.pointee.running else { return nil }
    return obstacle(of: cell) { last, _ in
      guard running.toOpaque() == Unmanaged.passUnretained(last).toOpaque() else { return nil }
      return DeadlockError(
        description: """
          wait() inside a handler for the promise that this handler must settle would never \
          return. Return the promise from `then` instead of waiting for it.
          """)
    }
  }

  /// The error if the wait can't end because the next step needs an executor that this thread
  /// occupies.
  private func deadlock(_ probe: inout QueueProbe?) -> DeadlockError? {
    obstacle(of: cell) { last, upstream in
      guard let needed = neededTarget(of: last, upstream) else { return nil }
      if MainThread.isCurrent, isMain(needed) {
        return DeadlockError(
          description: """
            wait() on the main thread for a promise whose handlers run on the main thread would \
            never return. Use `await`, or run the handlers elsewhere with `on:`.
            """)
      }
      let isOccupied =
        (needed as? Scheduler)?.occupiesCurrentThread == true
        || needed === state.pointee.scheduler?.takeUnretainedValue()
        || isOccupiedQueue(needed, &probe)
      guard isOccupied else { return nil }
      return DeadlockError(
        description: """
          wait() on an executor for a promise whose handlers run on the same executor would never \
          return. Return the promise from `then` instead of waiting for it.
          """)
    }
  }

  /// Returns the reason why `cell` can't settle, or nil if none is found.
  ///
  /// The search follows sources up to the cells that don't wait for another cell, and calls `check`
  /// with each of these and what it waits for. The result of `all` can't settle if one input can't,
  /// and that of a race if no input can. Combinators that are too large, or nested too deeply, to
  /// be searched repeatedly aren't checked.
  private func obstacle(
    of cell: Cell, depth: Int = 0, _ check: (Cell, Cell.Upstream) -> DeadlockError?
  ) -> DeadlockError? {
    let (last, upstream) = topmost(above: cell)
    guard case .producer(let producer) = upstream,
      let combinator = producer as? any CombinatorInputs
    else { return check(last, upstream) }
    guard depth < 16, let inputs = combinator.pendingInputs(limit: 256) else { return nil }
    var found: DeadlockError?
    for input in inputs {
      let obstacle = obstacle(of: input, depth: depth + 1, check)
      if (obstacle != nil) == combinator.needsEveryInput { return obstacle }
      found = obstacle
    }
    return found
  }

  /// Returns the last unsettled cell upstream of `cell`, and what it waits for.
  private func topmost(above cell: Cell) -> (cell: Cell, upstream: Cell.Upstream) {
    var cell = cell
    // The work of a limiter or coalescer can wait for itself, in a cycle.
    var producers = 0
    while true {
      let upstream = cell.upstream
      let next: Cell
      switch upstream {
      case .source(let source, _):
        next = source
      case .producer(let producer):
        guard let source = producer as? Cell, producers < 100 else { return (cell, upstream) }
        producers += 1
        next = source
      case .unknown:
        return (cell, upstream)
      }
      if next.isSettled { return (cell, upstream) }
      cell = next
    }
  }

  /// Returns the scheduler or queue that `cell`, which doesn't wait for another cell, needs to run.
  private func neededTarget(of cell: Cell, _ upstream: Cell.Upstream) -> AnyObject? {
    switch upstream {
    case .unknown:
      return nil
    case .producer(let producer):
      return producer
    case .source(let source, let marks):
      let wanted = source.isRejected ? Cell.Mark.wantsRejection : Cell.Mark.wantsValue
      guard marks & wanted != 0 else { return nil }
      return unsafeDowncast(cell, to: Handler.self).target?.takeUnretainedValue()
    }
  }

  private func isMain(_ target: AnyObject) -> Bool {
    if target === MainScheduler.shared { return true }
    // For example, a `QueueExecutor` of the main queue.
    return queue(of: target).map { MainThread.isServed(by: $0) } ?? false
  }

  /// Returns the queue to which jobs for `target`, a queue or a scheduler, are sent, if any.
  private func queue(of target: AnyObject) -> DispatchQueue? {
    guard let scheduler = target as? Scheduler else { return target as? DispatchQueue }
    return scheduler.dispatchQueue?.takeUnretainedValue() as? DispatchQueue
  }

  /// Returns whether jobs for `target` are sent to the queue whose turn runs on this thread, and
  /// whether that queue is serial.
  ///
  /// A queue doesn't expose whether it is serial, so a block is sent to it to find out. If all
  /// threads of a concurrent queue are busy for a second, the queue is mistaken for a serial one.
  private func isOccupiedQueue(_ target: AnyObject, _ probe: inout QueueProbe?) -> Bool {
    guard let queue = queue(of: target),
      queue === state.pointee.turn.queue?.takeUnretainedValue(), queue !== Queues.global
    else { return false }
    if let probe { return probe.isStuck }
    probe = QueueProbe(queue)
    return false
  }
}

/// A block on a queue, to find out whether the queue runs anything besides the current turn.
private final class QueueProbe: Sendable {
  private let hasRun = AtomicFlag(false)
  private let start = SystemClock.now

  init(_ queue: DispatchQueue) {
    Queues.async(on: queue) { [self] in hasRun.store(true, ordering: .releasing) }
  }

  var isStuck: Bool {
    !hasRun.load(ordering: .acquiring) && SystemClock.now - start > 1_000_000_000
  }
}

/// A check of whether a thread must not block in `wait()`, in addition to the library's own.
package protocol BlockingCheck: Sendable {
  /// Returns why the current thread must not block, or nil.
  static func objection() -> String?
}

enum BlockingChecks {
  private static let executorHasThread = AtomicFlag(false)

  /// The check of PledgeNIO, if the program contains that module.
  ///
  /// It is found by its name, because a program that only links the module calls none of its
  /// functions that could register the check.
  private static let ofEventLoops =
    _typeByName("PledgeNIO.BlockingOnLoops") as? any BlockingCheck.Type

  static func objection() -> String? { ofEventLoops?.objection() }

  /// Records that there are executors that can tell whether they occupy a thread.
  static func noteExecutorWithThread() { executorHasThread.store(true, ordering: .releasing) }

  static var hasExecutorWithThread: Bool { executorHasThread.load(ordering: .acquiring) }
}
