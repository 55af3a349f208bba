/// Runs jobs in place, with limited nesting, so that the stack stays small.
enum Trampoline {
  /// The maximum nesting depth; deeper jobs wait until the outermost one has returned.
  static let maximumDepth = 24

  @inline(__always)
  static func perform(_ job: Job, _ state: UnsafeMutablePointer<ThreadState>) {
    if state.pointee.depth >= maximumDepth {
      state.pointee.deferred.append(job)
    } else {
      state.pointee.depth += 1
      job.perform(state, isInPlace: true)
      leave(state)
    }
  }

  /// Calls `enqueue`, a function of a user-defined executor.
  ///
  /// It counts as one level of nesting: what it drops is rejected after it has returned.
  @inline(__always)
  static func callExecutor(_ enqueue: () -> Void) {
    let state = ThreadState.current
    state.pointee.depth += 1
    state.pointee.enqueueDepth += 1
    enqueue()
    state.pointee.enqueueDepth -= 1
    leave(state)
  }

  /// Decrements the depth and runs the deferred jobs if this was the outermost job.
  @inline(__always)
  static func leave(_ state: UnsafeMutablePointer<ThreadState>) {
    state.pointee.depth -= 1
    if state.pointee.depth == 0, !state.pointee.deferred.isEmpty { drain(state) }
  }

  /// Runs the deferred jobs now, even if the thread's stack has not unwound.
  @inline(never)
  static func drain(_ state: UnsafeMutablePointer<ThreadState>) {
    let depth = exchange(&state.pointee.depth, with: 1)
    while let job = state.pointee.deferred.removeFirst() { job.perform(state, isInPlace: true) }
    state.pointee.depth = depth
  }
}

extension Job {
  /// Ends this job, which an executor dropped: after the executor's `enqueue` has returned.
  func dropAfterEnqueue() {
    let state = ThreadState.current
    let job = ClosureJob { self.drop() }
    if state.pointee.enqueueDepth > 0 {
      state.pointee.deferred.append(job)
    } else {
      // The trampoline limits nesting if an executor drops the jobs of a whole chain at once.
      Trampoline.perform(job, state)
    }
  }
}
