/// A thread of the library that serves many promises, such as that of the timers.
///
/// It must not run user code, because all of these promises would wait for that code. Work that
/// would run or release user code is postponed and sent to the global queue, all work of one call of
/// `perform` together and in order.
package enum SharedThread {
  /// The number of steps after which a cascade continues on the global queue.
  static let slice = 1_000

  /// Whether the current thread, which is shared, has done its part of a cascade.
  ///
  /// Each in-place job leaves something to postpone, so that no other count is needed.
  @inline(__always)
  static func isSpent(_ state: UnsafeMutablePointer<ThreadState>) -> Bool {
    state.pointee.postponed.count >= slice
  }

  /// Calls `work`, which can settle promises, on the current thread, which then counts as shared.
  package static func perform(_ work: () -> Void) {
    let thread = ThreadState.current
    let wasShared = exchange(&thread.pointee.isShared, with: true)
    work()
    // The system can use the thread for other work next.
    thread.pointee.isShared = wasShared
    // An outer call sends the work, because it may have more of it.
    if wasShared || thread.pointee.postponed.isEmpty { return }
    let postponed = PostponedWork(exchange(&thread.pointee.postponed, with: []))
    Queues.async(on: Queues.global) { postponed.run() }
  }

  /// Runs user code inside this call or, if the current thread is shared, later on the global queue.
  static func runUserCode(_ work: @escaping @Sendable () -> Void) {
    let state = ThreadState.current
    if state.pointee.isShared { state.pointee.postponed.append(work) } else { work() }
  }

  /// Releases `objects`, which can be or contain objects of the user, on the global queue if the
  /// current thread is shared; otherwise, the caller does.
  @inline(__always)
  static func release(_ objects: some Sendable) {
    let state = ThreadState.current
    if state.pointee.isShared {
      state.pointee.postponed.append { withExtendedLifetime(objects) {} }
    }
  }
}

/// Work that a shared thread has postponed.
///
/// `@unchecked Sendable`: only `run`, which is called once, accesses the work.
private final class PostponedWork: @unchecked Sendable {
  private var work: [@Sendable () -> Void]

  /// The work is moved, so that the shared thread keeps no reference that could become the last one.
  init(_ work: consuming [@Sendable () -> Void]) { self.work = work }

  /// Runs the work as deferred jobs, so that one that blocks in `wait()` runs the following ones
  /// first.
  func run() {
    let state = ThreadState.current
    state.pointee.depth += 1
    for work in exchange(&work, with: []) { state.pointee.deferred.append(PostponedJob(work)) }
    Trampoline.leave(state)
  }
}

/// One piece of postponed work.
///
/// `@unchecked Sendable`: only `perform`, which is called once, accesses the work.
private final class PostponedJob: Job, @unchecked Sendable {
  private var work: (@Sendable () -> Void)?

  init(_ work: @escaping @Sendable () -> Void) { self.work = work }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    exchange(&work, with: nil)?()
  }
}
