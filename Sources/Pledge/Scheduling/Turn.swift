import Dispatch

// A turn is one visit to an executor, in which it runs a batch of jobs: a chain of n handlers on
// one executor costs one hop instead of n. A turn ends after `Turn.maximumJobs` jobs, so that an
// endless chain doesn't block other users of a main queue or an actor.

/// The turn that runs on a thread.
///
/// A scheduler's turn takes its jobs from a `SerialQueue`.
///
/// A `DispatchQueue` doesn't expose whether it is serial. Therefore, **its turn continues with a job
/// only if that job is the sole observer of the promise that the turn's closure has just settled,
/// goes to the same queue, and the library is sending nothing else to that queue.** On a serial
/// queue, such a job would be the next one anyway, and on a concurrent one, nothing could have run
/// alongside it. All other jobs are sent to the queue, in order.
struct Turn {
  /// The maximum number of jobs in one turn.
  static let maximumJobs = 128

  /// The queue or the scheduler, which the running job retains; nil if there is no turn.
  var target: Unmanaged<AnyObject>?
  /// The job to run next, retained.
  var next: Unmanaged<Job>?
  /// The number of further jobs that the turn may run.
  var budget = 0

  /// Sends `job` to `object`, a `DispatchQueue`.
  ///
  /// `isSole` is true if it is the only observer of a promise that was settled on this thread.
  static func enqueue(
    _ job: Job, on object: AnyObject, isSole: Bool, _ state: UnsafeMutablePointer<ThreadState>
  ) {
    let outstanding = OutstandingTurns.counter(of: .passUnretained(object))
    if isSole,
      state.pointee.turn.target?.toOpaque() == Unmanaged.passUnretained(object).toOpaque(),
      state.pointee.closuresOnStack == 0, state.pointee.turn.next == nil,
      state.pointee.deferred.isEmpty, state.pointee.turn.budget > 0,
      outstanding.pointee.load(ordering: .acquiring) == 1
    {
      state.pointee.turn.next = .passRetained(job)
      return
    }
    outstanding.pointee.wrappingAdd(1, ordering: .acquiringAndReleasing)
    // A closure that captures a single object needs no separate context.
    Queues.async(on: unsafeDowncast(object, to: DispatchQueue.self)) {
      run(job, budget: maximumJobs)
    }
  }

  /// Sends `job` to `object`, a `DispatchQueue`, to run in a turn without any other job.
  static func enqueueAlone(
    _ job: Job, on object: AnyObject, group: DispatchGroup? = nil,
    flags: DispatchWorkItemFlags = []
  ) {
    let outstanding = OutstandingTurns.counter(of: .passUnretained(object))
    outstanding.pointee.wrappingAdd(1, ordering: .acquiringAndReleasing)
    let queue = unsafeDowncast(object, to: DispatchQueue.self)
    Queues.async(on: queue, group: group, flags: flags) { run(job, budget: 0) }
  }

  /// Runs the turn's next job now, before user code that could block until that job has run.
  @inline(never)
  static func runNext(_ state: UnsafeMutablePointer<ThreadState>) {
    guard let next = exchange(&state.pointee.turn.next, with: nil) else { return }
    state.pointee.turn.budget -= 1
    next.takeRetainedValue().perform(state, isInPlace: false)
  }

  private static func run(_ first: Job, budget: Int) {
    guard let queue = first.queue else { return }
    Turn(target: queue, budget: budget).begin { state in
      first.perform(state, isInPlace: false)
      while state.pointee.turn.next != nil { runNext(state) }
    }
    let outstanding = OutstandingTurns.counter(of: queue)
    outstanding.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing)
  }

  /// Calls `body` in this turn.
  ///
  /// A turn can start inside another one, if a handler waits and the thread serves a queue in the
  /// meantime.
  @inline(__always)
  func begin(_ body: (UnsafeMutablePointer<ThreadState>) -> Void) {
    let state = ThreadState.current
    let outer = (state.pointee.turn, state.pointee.closuresOnStack)
    (state.pointee.turn, state.pointee.closuresOnStack) = (self, 0)
    body(state)
    (state.pointee.turn, state.pointee.closuresOnStack) = outer
  }
}

extension Queues {
  /// Calls `body`, in which each turn of `queue` has only one job, because another turn counts as
  /// outstanding.
  package static func withSingleJobs(on queue: DispatchQueue, _ body: () -> Void) {
    let outstanding = OutstandingTurns.counter(of: .passUnretained(queue))
    outstanding.pointee.wrappingAdd(1, ordering: .acquiringAndReleasing)
    body()
    outstanding.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing)
  }
}

/// Counts the turns that were sent to queues and haven't ended, in 64 counters that all queues
/// share by the hash of their address.
///
/// If two queues share a counter, the only effect is smaller batches.
private enum OutstandingTurns {
  /// The counter for `queue`.
  @inline(__always)
  static func counter(of queue: Unmanaged<AnyObject>) -> UnsafePointer<AtomicCounter> {
    let address = UInt(bitPattern: queue.toOpaque())
    let stripe = Int((address >> 4 ^ address >> 12) & 63)
    return cached(in: &outstandingTurnsWord, UnsafeRawPointer(counters))
      .assumingMemoryBound(to: AtomicCounter.self) + stripe * cacheLine
  }

  /// The number of counters that fill a cache line, of which one is used.
  private static let cacheLine = 8

  /// Never deallocated.
  ///
  /// `nonisolated(unsafe)`: the pointer is immutable, and its memory is accessed atomically.
  private nonisolated(unsafe) static let counters = {
    let counters = UnsafeMutablePointer<AtomicCounter>.allocate(capacity: 64 * cacheLine)
    for index in 0..<64 * cacheLine { (counters + index).initialize(to: AtomicCounter(0)) }
    return UnsafePointer(counters)
  }()
}

/// The cached address of the counters of `OutstandingTurns`.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var outstandingTurnsWord: UInt64 = 0
