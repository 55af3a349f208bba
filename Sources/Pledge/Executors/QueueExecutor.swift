import Dispatch

/// An executor that submits each handler to a queue separately.
///
/// A `DispatchQueue` used as an executor can run a chain of handlers in one visit. This one takes a
/// visit for each: work that the program itself sends to the queue keeps its place between them. On
/// a serial queue handlers run in the order in which they were attached.
public struct QueueExecutor: PromiseExecutor {
  private let scheduler: VisitScheduler?

  /// Creates an executor for `queue`.
  ///
  /// - Parameters:
  ///   - queue: Where handlers run; nil runs them in place, as ``PromiseExecutor/immediate`` does.
  ///   - group: Counts each handler from when it is sent until it has run.
  ///   - flags: The flags of each submission.
  public init(
    _ queue: DispatchQueue?, group: DispatchGroup? = nil, flags: DispatchWorkItemFlags = []
  ) {
    scheduler = queue.map { VisitScheduler(queue: $0, group: group, flags: flags) }
  }

  /// Runs the job on the queue, or in place.
  public func enqueue(_ job: PromiseJob) {
    if let scheduler { scheduler.send { job.run() } } else { job.run() }
  }

  /// Reaches the queue without a wrapper for each job.
  @usableFromInline var target: HandlerTarget {
    if let scheduler {
      HandlerTarget(scheduler: scheduler)
    } else {
      HandlerTarget(programInPlace: ())
    }
  }
}

/// Sends jobs to a queue one by one.
///
/// `@unchecked Sendable`: all three are immutable, and thread-safe or numbers.
private final class VisitScheduler: Scheduler, @unchecked Sendable {
  private let queue: DispatchQueue
  private let group: DispatchGroup?
  private let flags: DispatchWorkItemFlags

  init(queue: DispatchQueue, group: DispatchGroup?, flags: DispatchWorkItemFlags) {
    self.queue = queue
    self.group = group
    self.flags = flags
  }

  @inline(__always)
  func send(_ work: @escaping @Sendable () -> Void) {
    Queues.async(on: queue, group: group, flags: flags, work)
  }

  override func enqueue(_ job: Job) {
    send { job.perform(ThreadState.current, isInPlace: false) }
  }

  override var name: String { queue.label }
  override var identity: AnyObject? { queue }
}
