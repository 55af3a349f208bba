import Dispatch

// A turn is one visit of an executor, in which it runs a batch of jobs: a chain of n handlers on
// one executor costs one hop and not n. A turn ends after `TurnBudget.jobs` jobs, so that a chain
// without end leaves room for the other users of a main queue or an actor.

enum TurnBudget {
  /// How many jobs one turn runs at the most.
  static let jobs = 128
}

/// A turn on a `DispatchQueue`.
///
/// A queue does not tell whether it is serial. So the rule is: **a turn continues with a job only if
/// that job is the sole observer of the promise that the turn's closure has just settled, goes to
/// the same queue, and the library is sending nothing else to that queue.** On a serial queue
/// such a job would be the next one anyway, and on a concurrent one nothing could have run alongside
/// it. All others are sent to the queue, in order.
struct QueueTurn {
  /// The queue, which the first job of the turn keeps alive; nil if there is no turn.
  var queue: Unmanaged<AnyObject>?
  /// The job to run next, retained.
  var next: Unmanaged<Job>?
  /// How many jobs it may run yet.
  var budget = TurnBudget.jobs

  /// Sends `job` to `object`, a `DispatchQueue`.
  ///
  /// `isSole` says that it is the only observer of a promise that was settled on this thread.
  static func enqueue(
    _ job: Job, on object: AnyObject, isSole: Bool, _ state: UnsafeMutablePointer<ThreadState>
  ) {
    if isSole,
      state.pointee.turn.queue?.toOpaque() == Unmanaged.passUnretained(object).toOpaque(),
      state.pointee.closuresOnStack == 0, state.pointee.turn.next == nil,
      state.pointee.nextDeferred == state.pointee.deferred.count,
      state.pointee.turn.budget > 0, OutstandingTurns.count(on: .passUnretained(object)) == 1
    {
      state.pointee.turn.next = .passRetained(job)
      return
    }
    OutstandingTurns.add(to: .passUnretained(object))
    // A closure that captures one object needs no context of its own.
    Queues.async(on: unsafeDowncast(object, to: DispatchQueue.self)) { run(job) }
  }

  /// Runs the turn's next job now, before code of the program that may block until it has run.
  @inline(never)
  static func runNext(_ state: UnsafeMutablePointer<ThreadState>) {
    guard let next = exchange(&state.pointee.turn.next, with: nil) else { return }
    state.pointee.turn.budget -= 1
    next.takeRetainedValue().perform(state, isInPlace: false)
  }

  private static func run(_ first: Job) {
    guard let queue = first.queue else { return }
    let state = ThreadState.current
    // A turn may start inside another one where a handler waits and the thread serves a queue in
    // between.
    let outer = (state.pointee.turn, state.pointee.closuresOnStack)
    state.pointee.turn = QueueTurn(queue: queue)
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

/// How many turns were sent to queues and have not ended, in 64 counters that all queues share by
/// the hash of their address.
///
/// Two queues on one counter only batch less.
private enum OutstandingTurns {
  private static let mask = 63

  /// One cache line a counter.
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

  /// Never freed.
  ///
  /// `nonisolated(unsafe)`: immutable, and what it points to is atomic.
  private nonisolated(unsafe) static let allCounters = {
    let counters = UnsafeMutablePointer<Counter>.allocate(capacity: mask + 1)
    for index in 0...mask { (counters + index).initialize(to: Counter()) }
    return UnsafePointer(counters)
  }()
}

/// Where the counters of `OutstandingTurns` lie.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var outstandingTurnsWord: UInt = 0
