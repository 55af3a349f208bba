import Dispatch

/// Where a closure runs, and where it is released if it never runs.
///
/// `@unchecked Sendable`: an immutable reference to a queue or a scheduler, which are thread-safe.
@frozen @usableFromInline
struct HandlerTarget: @unchecked Sendable {
  /// How jobs reach the target.
  @usableFromInline
  enum Kind: UInt64 {
    /// On the current thread.
    case inPlace
    /// Through a `Scheduler`.
    case scheduler
    /// Through a `DispatchQueue`.
    case queue
    /// Through a `DispatchQueue`, each job in a turn of its own.
    case queueAlone
  }

  /// The scheduler or the queue.
  @usableFromInline let object: AnyObject?
  @usableFromInline let kind: Kind

  @inlinable
  init(_ object: AnyObject?, _ kind: Kind) {
    self.object = object
    self.kind = kind
  }

  /// The target for closures that run on the current thread.
  @inlinable static var inPlace: HandlerTarget { HandlerTarget(nil, .inPlace) }

  /// Whether closures for this target can be isolated to it: it is an actor or a `TurnExecutor`.
  var isIsolation: Bool { scheduler?.isIsolation ?? (object === Queues.main) }

  /// The scheduler through which jobs reach the target, if any.
  var scheduler: Scheduler? {
    kind == .scheduler ? object.map { unsafeDowncast($0, to: Scheduler.self) } : nil
  }

  /// Whether the current thread runs a turn of this target.
  func isCurrent(_ state: UnsafeMutablePointer<ThreadState>) -> Bool {
    guard let object else { return true }
    if object === Queues.main { return MainThread.isCurrent }
    return state.pointee.turn.target?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
  }

  /// Releases `closure` here if closures can be isolated to this target, because the objects that
  /// it captured, and their `deinit`, can be, too; otherwise, on the current thread.
  func release<Closure>(_ closure: consuming Closure) {
    let state = ThreadState.current
    let isHere = !isIsolation || isCurrent(state)
    if isHere, state.pointee.depth < Trampoline.maximumDepth {
      state.pointee.depth += 1
      Self.end(closure)
      return Trampoline.leave(state)
    }
    // Moved, so that this thread doesn't hold the last reference.
    let release = ClosureJob { [closure = consume closure] in _ = closure }
    if isHere { Trampoline.perform(release, state) } else { schedule(release) }
  }

  /// Runs `job` on this target, which isn't in place, separately from handlers.
  func schedule(_ job: ClosureJob) {
    if let scheduler {
      scheduler.enqueue(job)
    } else {
      let queue = unsafeDowncast(object.unsafelyUnwrapped, to: DispatchQueue.self)
      Queues.async(on: queue) { job.perform(ThreadState.current, isInPlace: false) }
    }
  }

  @inline(never)
  private static func end<Closure>(_ closure: consuming Closure) { _ = consume closure }
}
