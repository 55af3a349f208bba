import Dispatch
import Synchronization

// A turn is one visit of an executor, in which it runs a batch of handlers: a chain of n handlers
// on one executor costs one hop and not n. A turn ends after `TurnBudget.handlers` handlers, so
// that a chain without end leaves room for the other users of a main queue or an actor.

enum TurnBudget {
  /// How many handlers one turn runs at the most.
  static let handlers = 128
}

/// A turn on a `DispatchQueue`.
///
/// Whether a queue is serial cannot be asked. So a turn runs on only what keeps the order on a
/// serial queue and the parallelism on a concurrent one: when a handler has returned and settles
/// its promise, the first handler that follows on the same queue runs in the same turn, provided
/// that nothing else was sent to that queue before and has yet to run, and that nothing else runs
/// here meanwhile. All others are sent to the queue; above all those that a handler sets off before
/// it returns, since it may block until they have run.
struct QueueTurn {
  /// The queue, which the first handler of the turn keeps alive; nil if there is no turn.
  var queue: Unmanaged<AnyObject>?
  /// The handler to run next, retained.
  var follower: Unmanaged<Handler>?
  /// How many handlers it may run yet.
  var budget = TurnBudget.handlers

  static func enqueue(
    _ handler: Handler, on object: AnyObject, _ state: UnsafeMutablePointer<ThreadState>
  ) {
    if state.pointee.turn.queue?.toOpaque() == Unmanaged.passUnretained(object).toOpaque(),
      state.pointee.turn.follower == nil, state.pointee.turn.budget > 0,
      ThreadState.hasReturned(state),
      SentTurns.count(of: .passUnretained(object)) == 1
    {
      state.pointee.turn.follower = .passRetained(handler)
      return
    }
    send(handler, to: unsafeDowncast(object, to: DispatchQueue.self))
  }

  /// Whether the turn that runs on this thread keeps others from running on its queue.
  ///
  /// A queue does not tell whether it is serial, so a block is sent to find out. A concurrent queue
  /// all of whose threads are busy for a second is taken for a serial one.
  static func holdsUp(_ object: AnyObject) -> Bool {
    if object === GlobalExecutor.queue { return false }
    let probe = DispatchSemaphore(value: 0)
    unsafeDowncast(object, to: DispatchQueue.self).async { probe.signal() }
    return probe.wait(timeout: .now() + .seconds(1)) == .timedOut
  }

  private static func send(_ handler: Handler, to queue: DispatchQueue) {
    SentTurns.add(to: .passUnretained(queue))
    // A closure that captures one object needs no context of its own.
    queue.async { run(handler) }
  }

  /// Sends the handler that shall follow in this thread's turn to its queue, as another one runs
  /// here first.
  static func giveUpFollower(_ state: UnsafeMutablePointer<ThreadState>) {
    guard let queue = state.pointee.turn.queue else { return }
    guard let follower = exchange(&state.pointee.turn.follower, with: nil) else { return }
    send(
      follower.takeRetainedValue(),
      to: unsafeDowncast(queue.takeUnretainedValue(), to: DispatchQueue.self))
  }

  private static func run(_ first: Handler) {
    guard let queue = first.target else { return }
    let state = ThreadState.current
    // A turn may start inside another one where a handler waits and the thread serves a queue
    // meanwhile.
    let outer = state.pointee.turn
    state.pointee.turn = QueueTurn(queue: queue)
    first.perform(state)
    while let next = exchange(&state.pointee.turn.follower, with: nil) {
      state.pointee.turn.budget -= 1
      next.takeRetainedValue().perform(state)
    }
    state.pointee.turn = outer
    SentTurns.remove(from: queue)
  }
}

/// How many turns were sent to queues and have not ended, in 64 counters that all queues share by
/// the hash of their address.
///
/// Two queues on one counter only batch less.
private enum SentTurns {
  private static let mask = 63

  /// One cache line a counter.
  private struct Counter: ~Copyable {
    let count = Atomic<Int>(0)
    let padding: (Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0)
  }

  static func count(of queue: Unmanaged<AnyObject>) -> Int {
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
    remembered(in: &sentTurnsWord, UnsafeRawPointer(allCounters))
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

/// Where the counters of `SentTurns` lie.
///
/// `nonisolated(unsafe)`: only touched atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var sentTurnsWord: UInt = 0

/// A serial executor's queue of handlers and the turns that work it off.
class TurnScheduler: Scheduler, @unchecked Sendable {
  private struct Queue {
    var handlers: [Handler] = []
    var isScheduled = false
  }

  private let queue = Mutex(Queue())

  /// Has `runTurn` called on the executor, later.
  ///
  /// To be overridden.
  func scheduleTurn() { fatalError("Pledge: abstract") }

  override func enqueue(_ handler: Handler) {
    let mustSchedule = queue.withLock { queue in
      queue.handlers.append(handler)
      defer { queue.isScheduled = true }
      return !queue.isScheduled
    }
    if mustSchedule { scheduleTurn() }
  }

  /// Runs handlers until none is left or the budget is spent.
  ///
  /// Called on the executor.
  final func runTurn() {
    let state = ThreadState.current
    let outer = (state.pointee.scheduler, state.pointee.turn)
    state.pointee.scheduler = .passUnretained(self)
    state.pointee.turn = QueueTurn()
    defer { (state.pointee.scheduler, state.pointee.turn) = outer }

    var budget = TurnBudget.handlers
    while true {
      let batch = queue.withLock { queue in
        let batch = Array(queue.handlers.prefix(budget))
        queue.handlers.removeFirst(batch.count)
        if batch.isEmpty { queue.isScheduled = false }
        return batch
      }
      if batch.isEmpty { return }
      budget -= batch.count
      for handler in batch { handler.perform() }
      if budget == 0 {
        scheduleTurn()
        return
      }
    }
  }
}

/// The main actor's turns, on the main queue.
final class MainScheduler: TurnScheduler, @unchecked Sendable {
  private static let main = MainScheduler()
  static var shared: MainScheduler {
    remembered(in: &mainSchedulerWord, main).takeUnretainedValue()
  }

  override var name: String { "main" }

  override func scheduleTurn() {
    DispatchQueue.main.async { self.runTurn() }
  }
}

/// Where the scheduler of the main actor lies.
///
/// `nonisolated(unsafe)`: only touched atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var mainSchedulerWord: UInt = 0

/// An actor's turns.
///
/// There is one of these for each actor that has handlers waiting.
final class ActorScheduler: TurnScheduler, @unchecked Sendable {
  private let actor: any Actor

  private init(_ actor: any Actor) { self.actor = actor }

  override var name: String { "\(type(of: actor))" }

  override func scheduleTurn() {
    Self.hop(to: actor) { self.runTurn() }
  }

  static func hop(to actor: any Actor, _ work: @escaping @Sendable () -> Void) {
    Task { await Self.run(on: actor, work) }
  }

  private static func run(on actor: isolated any Actor, _ work: @Sendable () -> Void) {
    work()
  }

  /// A reference that does not keep its object alive.
  ///
  /// An object, as a struct with a weak reference and another field is not copied rightly inside
  /// an optional (Swift 6.3).
  ///
  /// `@unchecked Sendable`: written once, in the initializer.
  private final class Weak: @unchecked Sendable {
    private(set) weak var scheduler: ActorScheduler?
    let identity: ObjectIdentifier

    init(_ scheduler: ActorScheduler) {
      self.scheduler = scheduler
      identity = ObjectIdentifier(scheduler)
    }
  }

  private static let all = Mutex<[ObjectIdentifier: Weak]>([:])

  /// The scheduler of `actor`: the same one for as long as anybody uses it.
  static func of(_ actor: any Actor) -> ActorScheduler {
    let id = ObjectIdentifier(actor)
    return all.withLock { all in
      if let scheduler = all[id]?.scheduler { return scheduler }
      let scheduler = ActorScheduler(actor)
      all[id] = Weak(scheduler)
      return scheduler
    }
  }

  deinit {
    let id = ObjectIdentifier(actor)
    Self.all.withLock { all in
      // A new one may have taken the place meanwhile.
      if all[id]?.identity == ObjectIdentifier(self) { all[id] = nil }
    }
  }
}
