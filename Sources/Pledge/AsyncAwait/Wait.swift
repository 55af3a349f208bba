import Dispatch

/// The error of a blocking ``Promise/wait()`` that would never return.
public struct DeadlockError: Error, Sendable, CustomStringConvertible {
  /// A description of which thread waits for what.
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
    // What waits for this thread's stack to unwind may be what the promise needs.
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

  /// Whether this thread occupies an executor that the promise may need.
  private var mayDeadlock: Bool {
    state.pointee.scheduler != nil || state.pointee.turn.queue != nil || MainThread.isCurrent
      || BlockingChecks.hasExecutorWithThread
  }

  /// What makes the wait hopeless from the start, if anything does: the handler that waits here is
  /// to settle the promise.
  private func certainDeadlock() -> DeadlockError? {
    guard let running = state.pointee.running else { return nil }
    return obstacle(of: cell) { last, _ in
      guard running.toOpaque() == Unmanaged.passUnretained(last).toOpaque() else { return nil }
      return DeadlockError(
        description: """
          wait() inside a handler for the promise that this handler shall settle would never \
          return. Return the promise from `then` instead of waiting for it.
          """)
    }
  }

  /// What makes the wait hopeless by now, if anything does: the next step needs an executor that
  /// this thread occupies.
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

  /// What keeps `cell` from ever settling, if anything does.
  ///
  /// The search goes up to the cells that wait for no other one, which `check` is given with what
  /// they do wait for. The result of `all` is as good as its worst input, that of a race as its best.
  /// Nests and combinators that are too large to be searched again and again count as free.
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

  /// The cell furthest up that is not settled, and what it waits for.
  private func topmost(above cell: Cell) -> (cell: Cell, upstream: Cell.Upstream) {
    var cell = cell
    // Work of the library's services can wait for itself, in a cycle.
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

  /// The scheduler or queue that `cell`, which waits for nothing but to be run, is to run on.
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
    // Such as a `QueueExecutor` of the main queue.
    return queue(of: target).map { MainThread.isServed(by: $0) } ?? false
  }

  /// The queue to which jobs for `target`, a queue or a scheduler, are sent, if any.
  private func queue(of target: AnyObject) -> DispatchQueue? {
    guard let scheduler = target as? Scheduler else { return target as? DispatchQueue }
    return scheduler.dispatchQueue?.takeUnretainedValue() as? DispatchQueue
  }

  /// Whether `target` has the queue whose turn runs on this thread, and that is a serial one.
  ///
  /// A queue does not tell whether it is serial, so a block is sent to find out. A concurrent queue
  /// all of whose threads are busy for a second is taken for a serial one.
  private func isOccupiedQueue(_ target: AnyObject, _ probe: inout QueueProbe?) -> Bool {
    guard let queue = queue(of: target),
      queue === state.pointee.turn.queue?.takeUnretainedValue(), queue !== Queues.global
    else { return false }
    if let probe { return probe.isStuck }
    probe = QueueProbe(queue)
    return false
  }
}

/// A block on a queue, to find out whether that runs anything besides the current turn.
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

/// Which threads must not block in `wait()`, in addition to those that the library knows by itself.
package enum BlockingChecks {
  private static let checks = Mutex<[@Sendable () -> String?]>([])
  private static let executorHasThread = AtomicFlag(false)

  /// Has `check` asked before a thread blocks: what it returns is why the thread must not.
  ///
  /// For all waits from now on, until the program ends.
  package static func add(_ check: @escaping @Sendable () -> String?) {
    checks.withLock { $0.append(check) }
  }

  static func objection() -> String? {
    for check in checks.withLock({ $0 }) {
      if let objection = check() { return objection }
    }
    return nil
  }

  /// Notes that there are executors that can tell whether they occupy a thread.
  static func noteExecutorWithThread() { executorHasThread.store(true, ordering: .releasing) }

  static var hasExecutorWithThread: Bool { executorHasThread.load(ordering: .acquiring) }
}
