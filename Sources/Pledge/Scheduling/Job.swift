/// Something to be run once, on an executor or in place.
///
/// The scheduling layer knows no more of the engine than this.
@usableFromInline
class Job: @unchecked Sendable {
  // No stored properties: a subclass says what guards its own.
  @inlinable init() {}

  /// Runs this job on the current thread.
  ///
  /// `isInPlace` says that this need not be the job's executor. `state` is that of the thread.
  func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    fatalError("Pledge: abstract")
  }

  /// The dispatch queue that this job was sent to, if it was sent to one.
  var queue: Unmanaged<AnyObject>? { nil }

  /// Whether this job, when it runs in place, calls a closure of the program's.
  ///
  /// Such jobs do not run on the timers' thread.
  var callsProgramInPlace: Bool { false }
}
