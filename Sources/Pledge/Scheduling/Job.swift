/// A unit of work that runs once, on an executor or in place.
///
/// The scheduling layer uses the engine only through this class.
@usableFromInline
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

  /// The dispatch queue that this job was sent to, if any.
  var queue: Unmanaged<AnyObject>? { nil }

  /// Whether this job runs user code when it runs in place.
  ///
  /// Such jobs don't run on a shared thread.
  var callsProgramInPlace: Bool { false }
}
