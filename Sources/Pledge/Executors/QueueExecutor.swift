import Dispatch

/// An executor that submits each handler to a queue separately.
///
/// A `DispatchQueue` used as an executor can run a chain of handlers in a single block. This
/// executor submits a block for each handler, so that other work submitted to the queue can run
/// between them. On a serial queue, handlers run in the order in which they were attached.
public struct QueueExecutor: PromiseExecutor {
  @usableFromInline let target: HandlerTarget

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
    guard let queue else {
      target = .inPlace
      return
    }
    let alone = HandlerTarget(queue: queue, .queueAlone)
    if group == nil, flags.isEmpty {
      target = alone
    } else {
      target = HandlerTarget(OptionScheduler(alone.object, group, flags), .scheduler)
    }
  }

  /// Submits the job to the queue, or runs it in place.
  public func enqueue(_ job: PromiseJob) {
    switch target.kind {
    case .inPlace: job.run()
    case .scheduler: (target.object as? OptionScheduler)?.send { job.run() }
    case .queue, .queueAlone: (target.object as? DispatchQueue)?.enqueue(job)
    }
  }
}

/// Submits jobs to a queue one by one, with a group and flags.
///
/// `@unchecked Sendable`: all properties are immutable; the queue and the group are thread-safe.
private final class OptionScheduler: Scheduler, @unchecked Sendable {
  private let queue: DispatchQueue
  private let group: DispatchGroup?
  private let flags: DispatchWorkItemFlags

  init(_ queue: AnyObject?, _ group: DispatchGroup?, _ flags: DispatchWorkItemFlags) {
    self.queue = unsafeDowncast(queue.unsafelyUnwrapped, to: DispatchQueue.self)
    self.group = group
    self.flags = flags
  }

  func send(_ work: @escaping @Sendable () -> Void) {
    Queues.async(on: queue, group: group, flags: flags, work)
  }

  override func enqueue(_ job: Job) {
    Turn.enqueueAlone(job, on: queue, group: group, flags: flags)
  }

  override var dispatchQueue: Unmanaged<AnyObject>? { .passUnretained(queue) }
  override var name: String { queue.label }
  override var identity: AnyObject? { queue }
}
