/// An executor that the library does more for than to call it once a job.
class Scheduler: @unchecked Sendable {
  // No stored properties: a subclass says what guards its own.

  /// Has the job performed soon, in order.
  func enqueue(_ job: Job) { fatalError("Pledge: abstract") }

  /// What traces call it.
  var name: String { fatalError("Pledge: abstract") }

  /// What traces know it by, if anything.
  var identity: AnyObject? { self }

  /// Whether jobs run one at a time, in an isolation that the compiler knows.
  var isIsolation: Bool { false }

  /// Whether jobs run on the current thread and on no other, so that they cannot while it blocks.
  var occupiesCurrentThread: Bool { false }
}
