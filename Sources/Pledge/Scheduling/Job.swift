/// A unit of work that runs once, on an executor or in place.
///
/// The scheduling layer uses the engine only through this class.
@_fixed_layout @usableFromInline
class Job: @unchecked Sendable {
  // No stored properties; each subclass documents what guards its own.
  @inlinable init() {}

  /// Runs this job on the current thread.
  ///
  /// `isInPlace` is true if this isn't necessarily the job's executor. `state` is the state of the
  /// current thread.
  func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    fatalError("Pledge: abstract")
  }

  /// Ends this job, which no executor will run.
  func drop() {}

  /// The dispatch queue that this job was sent to, if any.
  var queue: Unmanaged<AnyObject>? { nil }
}

/// A job that calls a closure once, and releases it.
///
/// `@unchecked Sendable`: only `perform` and `drop`, one of which is called once, access `work`.
final class ClosureJob: Job, @unchecked Sendable {
  /// A struct, because a closure that is used directly as a generic argument needs one more thunk
  /// at each access.
  private struct Work {
    let call: () -> Void
    let drop: (() -> Void)?
  }

  private var work: Work?

  init(_ work: @escaping () -> Void, ifDropped drop: (() -> Void)? = nil) {
    self.work = Work(call: work, drop: drop)
  }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    exchange(&work, with: nil)?.call()
  }

  override func drop() { exchange(&work, with: nil)?.drop?() }
}
