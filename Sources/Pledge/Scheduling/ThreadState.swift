/// The library's state for one thread.
///
/// It is accessed through its pointer, one field at a time, because most fields need no reference
/// counting.
struct ThreadState {
  /// The nesting depth of the jobs that run on this thread.
  var depth = 0
  /// Jobs that run when this thread's stack has unwound.
  var deferred = Fifo<Job>()
  /// The first of the jobs in place that deliveries on this thread's stack will run next; only
  /// `Delivery` knows their type, and how they are linked.
  var inPlace: UnsafeMutableRawPointer?
  /// The handler that is running on this thread.
  var running: Unmanaged<Job>?
  /// The number of users' closures on this thread's stack.
  ///
  /// The engine decrements it as soon as a closure has returned, before it delivers the result.
  var closuresOnStack = 0
  /// The turn that is running on this thread, if any.
  var turn = Turn()
  /// The number of promises that this thread has adopted.
  var adoptions: UInt = 0
  /// The number of calls of custom executors' `enqueue` on this thread's stack.
  var enqueueDepth = 0
  /// The context that this thread captured last.
  ///
  /// Not weak: an object to which there is a weak reference takes slower paths of the runtime.
  var lastSnapshot: AnyObject?
  /// The number of tasks on this thread's stack that started there.
  var immediateDepth = 0
  /// What the innermost cancellation on this thread's stack that records it has left so far; nil if
  /// none does.
  var remainingWork: [RemainingWork]?
  /// The cancelled handler that runs, and its source, if that leaves work.
  var inherited: (heir: Job, source: Job)?
  /// The unhandled rejection that this thread reports: its error, and its identity for tracers.
  var reported: (error: any Error, id: UInt)?

  @inline(__always)
  static var current: UnsafeMutablePointer<ThreadState> {
    if let pointer = ThreadLocal.pointer {
      return pointer.assumingMemoryBound(to: ThreadState.self)
    }
    return makeCurrent()
  }

  @inline(never)
  private static func makeCurrent() -> UnsafeMutablePointer<ThreadState> {
    let state = UnsafeMutablePointer<ThreadState>.allocate(capacity: 1)
    state.initialize(to: ThreadState())
    ThreadLocal.set(UnsafeMutableRawPointer(state)) { pointer in
      let state = pointer.assumingMemoryBound(to: ThreadState.self)
      state.deinitialize(count: 1)
      state.deallocate()
    }
    return state
  }
}
