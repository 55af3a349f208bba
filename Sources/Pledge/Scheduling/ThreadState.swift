/// What the library keeps for each thread.
///
/// To be used through its pointer, a field at a time: most of it needs no reference counting.
struct ThreadState {
  /// How many jobs run inside one another on this thread.
  var depth = 0
  /// Jobs that wait for this thread's stack to unwind.
  var deferred: [Job] = []
  var nextDeferred = 0
  /// The handler that runs on this thread.
  var running: Unmanaged<Job>?
  /// How many closures of the program are on this thread's stack.
  ///
  /// The engine counts a closure down as soon as it has returned, before it delivers the result.
  var closuresOnStack = 0
  /// The queue turn that runs on this thread, if one does.
  var turn = QueueTurn()
  /// The scheduler whose turn runs on this thread, if one does; the turn keeps it alive.
  var scheduler: Unmanaged<AnyObject>?
  /// How many promises this thread has adopted.
  var adoptions: UInt = 0
  /// How many calls of custom executors' `enqueue` are on this thread's stack.
  var enqueueDepth = 0
  /// Whether this is the timers' thread, which runs no code of the program.
  var isTimerThread = false
  /// What calls code of the program and came up on the timers' thread: see `TimerHeap`.
  var postponed: [@Sendable () -> Void] = []

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
