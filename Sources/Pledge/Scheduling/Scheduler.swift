/// An executor that the library schedules itself, rather than only sending it jobs.
class Scheduler: @unchecked Sendable {
  // No stored properties; each subclass documents what guards its own.

  /// Schedules `job`, in order.
  func enqueue(_ job: Job) { fatalError("Pledge: abstract") }

  /// The name in traces.
  var name: String { fatalError("Pledge: abstract") }

  /// The object that identifies it in traces, if any.
  var identity: AnyObject? { self }

  /// The dispatch queue to which it sends each job, if any; it retains the queue.
  var dispatchQueue: Unmanaged<AnyObject>? { nil }

  /// Whether jobs run one at a time, in an isolation that the compiler knows.
  var isIsolation: Bool { false }

  /// Whether jobs run only on the current thread, and therefore can't run while it blocks.
  var occupiesCurrentThread: Bool { false }
}
