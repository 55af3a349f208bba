/// Runs jobs in place, with limited nesting, so that the stack stays small.
enum Trampoline {
  /// The maximum nesting depth; deeper jobs wait until the outermost one has returned.
  static let maximumDepth = 24

  @inline(__always)
  static func perform(_ job: Job, _ state: UnsafeMutablePointer<ThreadState>) {
    if state.pointee.depth >= maximumDepth || state.pointee.isShared {
      return performElsewhere(job, state)
    }
    state.pointee.depth += 1
    job.perform(state, isInPlace: true)
    leave(state)
  }

  @inline(never)
  private static func performElsewhere(_ job: Job, _ state: UnsafeMutablePointer<ThreadState>) {
    if state.pointee.isShared {
      if job.callsProgramInPlace || SharedThread.isSpent(state) {
        state.pointee.postponed.append { perform(job, ThreadState.current) }
        return
      }
      // The job is released elsewhere, because its value and its captures can have a `deinit` of
      // the user.
      state.pointee.postponed.append { withExtendedLifetime(job) {} }
    }
    if state.pointee.depth >= maximumDepth {
      state.pointee.deferred.append(job)
    } else {
      state.pointee.depth += 1
      job.perform(state, isInPlace: true)
      leave(state)
    }
  }

  /// Calls `enqueue`, a function of a program's executor.
  ///
  /// It counts as one level of nesting: what it drops is rejected after it has returned.
  @inline(__always)
  static func callExecutor(
    _ state: UnsafeMutablePointer<ThreadState>, _ enqueue: () -> Void
  ) {
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

  /// Runs the deferred jobs now, before the thread blocks, although its stack has not unwound.
  static func drainBeforeBlocking(_ state: UnsafeMutablePointer<ThreadState>) {
    guard !state.pointee.deferred.isEmpty else { return }
    let depth = state.pointee.depth
    drain(state)
    state.pointee.depth = depth
  }

  @inline(never)
  private static func drain(_ state: UnsafeMutablePointer<ThreadState>) {
    state.pointee.depth = 1
    while state.pointee.nextDeferred < state.pointee.deferred.count {
      let next = state.pointee.nextDeferred
      let job = state.pointee.deferred[next]
      state.pointee.nextDeferred = next + 1
      // Frees the entries of jobs that have run, so that the queue stays short in a long loop; by
      // halves, so that this costs O(1) per job.
      if next >= 64, next >= state.pointee.deferred.count / 2 {
        state.pointee.deferred.removeFirst(next + 1)
        state.pointee.nextDeferred = 0
      }
      job.perform(state, isInPlace: true)
    }
    state.pointee.deferred.removeAll(keepingCapacity: true)
    state.pointee.nextDeferred = 0
    state.pointee.depth = 0
  }
}

/// A job that runs `job` after the stack has unwound, as if `job` had been sent to its executor.
final class DeferredJob: Job, @unchecked Sendable {
  private let job: Job

  init(_ job: Job) { self.job = job }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    job.perform(state, isInPlace: false)
  }
}
