import Dispatch

// A turn is one visit to an executor, in which it runs a batch of jobs: a chain of n handlers on
// one executor costs one hop instead of n. A turn ends after `TurnBudget.jobs` jobs, so that an
// endless chain doesn't block other users of a main queue or an actor.

enum TurnBudget {
  /// The maximum number of jobs in one turn.
  static let jobs = 128
}

/// A turn on a `DispatchQueue`.
///
/// A queue doesn't expose whether it is serial. Therefore, **a turn continues with a job only if
/// that job is the sole observer of the promise that the turn's closure has just settled, goes to
/// the same queue, and the library is sending nothing else to that queue.** On a serial queue, such
/// a job would be the next one anyway, and on a concurrent one, nothing could have run alongside
/// it. All other jobs are sent to the queue, in order.
struct QueueTurn {
  /// The queue, which the first job of the turn retains; nil if there is no turn.
  var queue: Unmanaged<AnyObject>?
  /// The job to run next, retained.
  var next: Unmanaged<Job>?
  /// The number of further jobs that the turn may run.
  var budget = TurnBudget.jobs

  /// Sends `job` to `object`, a `DispatchQueue`.
  ///
  /// `isSole` is true if it is the only observer of a promise that was settled on this thread.
  static func enqueue(
    _ job: Job, on object: AnyObject, isSole: Bool, _ state: UnsafeMutablePointer<ThreadState>
  ) {
    if isSole,
      state.pointee.turn.queue?.toOpaque() == Unmanaged.passUnretained(object).toOpaque(),
      state.pointee.closuresOnStack == 0, state.pointee.turn.next == nil,
      state.pointee.deferred.isEmpty, state.pointee.turn.budget > 0,
      OutstandingTurns.count(on: .passUnretained(object)) == 1
    {
      state.pointee.turn.next = .passRetained(job)
      return
    }
    OutstandingTurns.add(to: .passUnretained(object))
    // A closure that captures a single object needs no separate context.
    Queues.async(on: unsafeDowncast(object, to: DispatchQueue.self)) {
      run(job, budget: TurnBudget.jobs)
    }
  }

  /// Sends `job` to `queue`, to run in a turn without any other job.
  static func enqueueAlone(
    _ job: Job, on queue: DispatchQueue, group: DispatchGroup? = nil,
    flags: DispatchWorkItemFlags = []
  ) {
    OutstandingTurns.add(to: .passUnretained(queue))
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
    let state = ThreadState.current
    // A turn can start inside another one, if a handler waits and the thread serves a queue in the
    // meantime.
    let outer = (state.pointee.turn, state.pointee.closuresOnStack)
    state.pointee.turn = QueueTurn(queue: queue, budget: budget)
    state.pointee.closuresOnStack = 0
    first.perform(state, isInPlace: false)
    while let next = exchange(&state.pointee.turn.next, with: nil) {
      state.pointee.turn.budget -= 1
      next.takeRetainedValue().perform(state, isInPlace: false)
    }
    (state.pointee.turn, state.pointee.closuresOnStack) = outer
    OutstandingTurns.remove(from: queue)
  }
}

/// Counts the turns that were sent to queues and haven't ended, in 64 counters that all queues
/// share by the hash of their address.
///
/// If two queues share a counter, the only effect is smaller batches.
private enum OutstandingTurns {
  private static let mask = 63

  /// A counter in its own cache line.
  private struct Counter: ~Copyable {
    let count = AtomicCounter(0)
    let padding: (Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0)
  }

  static func count(on queue: Unmanaged<AnyObject>) -> Int {
    counters[stripe(of: queue)].count.load(ordering: .acquiring)
  }

  static func add(to queue: Unmanaged<AnyObject>) {
    counters[stripe(of: queue)].count.wrappingAdd(1, ordering: .acquiringAndReleasing)
  }

  static func remove(from queue: Unmanaged<AnyObject>) {
    counters[stripe(of: queue)].count.wrappingSubtract(1, ordering: .acquiringAndReleasing)
  }

  private static func stripe(of queue: Unmanaged<AnyObject>) -> Int {
    let address = UInt(bitPattern: queue.toOpaque())
    return Int((address >> 4 ^ address >> 12) & UInt(mask))
  }

  private static var counters: UnsafePointer<Counter> {
    cached(in: &outstandingTurnsWord, UnsafeRawPointer(allCounters))
      .assumingMemoryBound(to: Counter.self)
  }

  /// Never deallocated.
  ///
  /// `nonisolated(unsafe)`: the pointer is immutable, and its memory is accessed atomically.
  private nonisolated(unsafe) static let allCounters = {
    let counters = UnsafeMutablePointer<Counter>.allocate(capacity: mask + 1)
    for index in 0...mask { (counters + index).initialize(to: Counter()) }
    return UnsafePointer(counters)
  }()
}

/// The cached address of the counters of `OutstandingTurns`.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var outstandingTurnsWord: UInt64 = 0
