import Dispatch

/// An executor that submits each handler to a queue separately.
///
/// A `DispatchQueue` used as an executor can run a chain of handlers in a single block. This
/// executor submits a block for each handler, so that other work submitted to the queue can run
/// between them. On a serial queue, handlers run in the order in which they were attached.
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
  ///   - queue: The queue on which handlers run. With nil, they run in place, as with
  ///     ``PromiseExecutor/immediate``, and the other arguments are ignored.
  ///   - group: A group that each handler enters when it's submitted and leaves when it has run.
  ///   - flags: The flags of each submitted block.
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

  /// Submits the job to the queue, or runs it in place.
  public func enqueue(_ job: PromiseJob) {
    switch submission {
    case .inPlace: job.run()
    case .plain(let queue): Queues.async(on: queue) { job.run() }
    case .withOptions(let scheduler):
      scheduler.send { job.run() }
    }
  }

  /// The target that reaches the queue without a wrapper for each job.
  @usableFromInline var target: HandlerTarget {
    switch submission {
    case .inPlace: HandlerTarget(programInPlace: ())
    case .plain(let queue): HandlerTarget(visiting: queue)
    case .withOptions(let scheduler): HandlerTarget(scheduler: scheduler)
    }
  }
}

/// Submits jobs to a queue one by one, with a group and flags.
///
/// `@unchecked Sendable`: all properties are immutable; the queue and the group are thread-safe.
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
