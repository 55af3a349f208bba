import Dispatch

/// An executor that submits each handler to a queue separately.
///
/// A `DispatchQueue` used as an executor can run a chain of handlers in one visit. This one takes a
/// visit for each: work that the program itself sends to the queue keeps its place between them. On
/// a serial queue handlers run in the order in which they were attached.
public struct QueueExecutor: PromiseExecutor {
  private enum Submission {
    case inPlace
    case plain(DispatchQueue)
    case withOptions(VisitScheduler)
  }

  private let submission: Submission

  /// Creates an executor for `queue`.
  ///
  /// - Parameters:
  ///   - queue: Where handlers run; nil runs them in place, as ``PromiseExecutor/immediate`` does.
  ///   - group: Counts each handler from when it is sent until it has run.
  ///   - flags: The flags of each submission.
  public init(
    _ queue: DispatchQueue?, group: DispatchGroup? = nil, flags: DispatchWorkItemFlags = []
  ) {
    if let queue {
      submission =
        group == nil && flags.isEmpty
        ? .plain(queue) : .withOptions(VisitScheduler(queue: queue, group: group, flags: flags))
    } else {
      submission = .inPlace
    }
  }

  /// Runs the job on the queue, or in place.
  public func enqueue(_ job: PromiseJob) {
    switch submission {
    case .inPlace: job.run()
    case .plain(let queue): Queues.async(on: queue) { job.run() }
    case .withOptions(let scheduler):
      scheduler.send { job.run() }
    }
  }

  /// Reaches the queue without a wrapper for each job.
  @usableFromInline var target: HandlerTarget {
    switch submission {
    case .inPlace: HandlerTarget(programInPlace: ())
    case .plain(let queue): HandlerTarget(visiting: queue)
    case .withOptions(let scheduler): HandlerTarget(scheduler: scheduler)
    }
  }
}

/// Sends jobs to a queue one by one, with options.
///
/// `@unchecked Sendable`: all three are immutable, and thread-safe or numbers.
private final class VisitScheduler: Scheduler, @unchecked Sendable {
  private let object: DispatchQueue
  private let group: DispatchGroup?
  private let flags: DispatchWorkItemFlags

  init(queue: DispatchQueue, group: DispatchGroup?, flags: DispatchWorkItemFlags) {
    object = queue
    self.group = group
    self.flags = flags
  }

  func send(_ work: @escaping @Sendable () -> Void) {
    Queues.async(on: object, group: group, flags: flags, work)
  }

  override func enqueue(_ job: Job) {
    QueueTurn.visit(job, on: object, group: group, flags: flags)
  }

  override var dispatchQueue: Unmanaged<AnyObject>? { .passUnretained(object) }
  override var name: String { object.label }
  override var identity: AnyObject? { object }
}
