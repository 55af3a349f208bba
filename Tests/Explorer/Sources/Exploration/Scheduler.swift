import CExplorer
import Glibc

/// Runs virtual threads, one at a time, in the order that a strategy chooses.
///
/// Before each access to shared state, the running thread asks the strategy which thread takes the
/// next step, and passes the baton to it. A step is one such access and everything up to the next
/// one.
///
/// `nonisolated(unsafe)` throughout: only the thread that has the baton accesses this state.
enum Scheduler {
  /// One decision, and what the chosen thread then did.
  struct Step {
    var thread: Int
    /// The thread that took the previous step, or -1 if it couldn't continue.
    var previous: Int
    /// The threads that could have been chosen, one bit each.
    var enabled: UInt64
    var access: Access
    /// The age of the value that a load of this step returned: the number of later stores.
    var age = 0
  }

  nonisolated(unsafe) static var strategy: any Strategy = Replay([])
  nonisolated(unsafe) static var threads: [VirtualThread] = []
  /// The threads that can take a step, one bit each.
  nonisolated(unsafe) private static var enabled: UInt64 = 0
  /// The enabled threads that wait only for time to advance.
  nonisolated(unsafe) static var timed: UInt64 = 0
  /// The number of threads that haven't finished.
  nonisolated(unsafe) private static var unfinished = 0
  /// The thread that runs first whenever it can, or -1.
  nonisolated(unsafe) static var privileged = -1
  nonisolated(unsafe) static var isRunning = false
  /// The reason why the run ended before its threads did.
  nonisolated(unsafe) private(set) static var failure: String?
  /// The number of writes that changed a value in this run.
  nonisolated(unsafe) static var writes = 0
  /// The virtual time, in nanoseconds.
  nonisolated(unsafe) static var time: UInt64 = 0
  nonisolated(unsafe) static var runNumber = 0
  /// The number of steps after which a run counts as endless.
  nonisolated(unsafe) static var stepLimit = 20_000
  /// The number of threads that run the blocks of tasks and of concurrent queues.
  nonisolated(unsafe) static var workers = Int.max
  /// The address of the pool in accesses: a block enters it and leaves it in an order that matters.
  static let poolAddress: UInt = 2
  /// Whether loads can return values other than the latest.
  nonisolated(unsafe) static var hasStaleLoads = false

  nonisolated(unsafe) private static var capacity = 1 << 12
  nonisolated(unsafe) static var steps = UnsafeMutablePointer<Step>.allocate(capacity: capacity)
  nonisolated(unsafe) static var stepCount = 0

  /// The queues that had a block in this run.
  nonisolated(unsafe) static var queues: [VirtualQueue] = []

  // MARK: - Runs

  /// Adds a thread that does `work`; if called before a run, the run starts with it.
  @discardableResult
  static func add(
    _ role: VirtualThread.Role, priority: UInt8? = nil, _ work: @escaping () -> Void
  ) -> Int {
    let number = threads.count
    guard number < maximumThreads else { stop("more than \(maximumThreads) blocks and timers") }
    var thread = VirtualThread(role: role, work: work, creation: stepCount - 1)
    let creator = Int(explorer_self())
    if let inherited = creator < 0 ? nil : threads[creator].priority { thread.priority = inherited }
    if let priority { thread.priority = priority }
    threads.append(thread)
    unfinished += 1
    enabled |= 1 << UInt64(number)
    explorer_release(Carrier.of(number).baton)
    return number
  }

  /// Runs all threads until they end, in the order that `strategy` chooses; returns what failed, if
  /// anything.
  static func run(_ strategy: any Strategy) -> String? {
    guard unfinished > 0 else { return nil }
    self.strategy = strategy
    (writes, stepCount, failure, privileged) = (0, 0, nil, -1)
    Memory.reset()
    isRunning = true
    if let first = choose(after: -1) {
      explorer_pass(Carrier.of(first).baton)
      if explorer_wait(Carrier.main.baton, 30) == 0 {
        die("a thread waits for something outside of the explorer")
      }
      for number in threads.indices { explorer_acquire(Carrier.of(number).end) }
    }
    isRunning = false
    if failure != nil { abandonRun() }
    return failure
  }

  static func reset() {
    threads.removeAll(keepingCapacity: true)
    (enabled, unfinished, stepCount, time, workers) = (0, 0, 0, 0, .max)
    runNumber += 1
    for queue in queues { queue.blocks.removeAll(keepingCapacity: true) }
    queues.removeAll(keepingCapacity: true)
  }

  /// Abandons the threads that can't end, with the objects and locks that they hold.
  private static func abandonRun() {
    for number in threads.indices where threads[number].state != .finished {
      for lock in threads[number].heldLocks { lock.holder = -1 }
      Carrier.replace(number)
    }
  }

  /// Runs the work of threads that were added after the run, in order, on the calling thread.
  static func runRemaining() {
    var number = 0
    while number < threads.count {
      if threads[number].state != .finished {
        threads[number].state = .finished
        threads[number].work.take()?()
      }
      number += 1
    }
  }

  static func begin(_ number: Int) {
    explorer_acquire(Carrier.of(number).baton)
    if threads[number].predecessor >= 0 {
      explorer_acquire(Carrier.of(threads[number].predecessor).end)
    }
    explorer_set_self(Int32(number))
    threads[number].hasBegun = true
    threads[number].work.take()?()
  }

  static func finish(_ number: Int) {
    explorer_set_self(-1)
    explorer_release(Carrier.of(number).end)
    threads[number].state = .finished
    enabled &= ~(1 << UInt64(number))
    unfinished -= 1
    threads[number].queue?.finished(number)
    noteWrite()
    let next = unfinished == 0 ? nil : choose(after: -1)
    explorer_pass(next.map { Carrier.of($0).baton } ?? Carrier.main.baton)
  }

  // MARK: - Decisions

  /// Lets the strategy choose the next thread; returns nil if the run can't continue.
  private static func choose(after current: Int) -> Int? {
    let enabled = withWorkers(enabled)
    if enabled == 0 { return fail("deadlock: \(obstacles())") }
    if stepCount >= stepLimit { return fail("no end after \(stepLimit) steps: \(obstacles())") }
    if stepCount == capacity { grow() }
    let candidates = fair(withPrivilege(enabled))
    // A thread that lets its time limit expire yields to all others.
    let canGoOn = current >= 0 && candidates & bit(current) != 0 && !threads[current].isTimed
    let previous = canGoOn ? current : -1
    timed = 0
    for number in threads.indices where threads[number].isTimed {
      timed |= bit(number) & candidates
    }
    let thread = strategy.chooseThread(step: stepCount, previous: previous, enabled: candidates)
    if thread < 0 || thread >= threads.count || candidates & bit(thread) == 0 {
      return fail(strategy.mismatch ?? "the schedule does not fit the program")
    }
    if workers < .max, threads[thread].isPooled, !threads[thread].hasBegun {
      threads[thread].access.address = poolAddress
    }
    (steps + stepCount).initialize(
      to: Step(
        thread: thread, previous: previous, enabled: candidates, access: threads[thread].access))
    stepCount += 1
    threads[thread].yieldsTo = 0
    for number in threads.indices { threads[number].yieldsTo &= ~(1 << UInt64(thread)) }
    return thread
  }

  private static func fail(_ reason: String) -> Int? {
    failure = reason
    return nil
  }

  /// Returns those of the `enabled` threads that have a worker of the pool, or need none.
  ///
  /// If a worker is free, the oldest of the waiting blocks with the highest priority takes it, and
  /// occupies it until the block has ended, also while the block waits for something else.
  private static func withWorkers(_ enabled: UInt64) -> UInt64 {
    if workers == .max { return enabled }
    var (free, next, waiting) = (workers, -1, UInt64(0))
    for number in threads.indices where threads[number].isPooled {
      if threads[number].hasBegun {
        free -= 1
        continue
      }
      waiting |= bit(number)
      if next < 0 || threads[number].priority > threads[next].priority { next = number }
    }
    return enabled & ~waiting | (free > 0 && next >= 0 ? bit(next) : 0)
  }

  /// Returns those of the `enabled` threads that don't have to yield to another one.
  ///
  /// Otherwise, two threads that spin, and write while they spin, could forever prevent a third one
  /// from running for which both wait.
  private static func fair(_ enabled: UInt64) -> UInt64 {
    var result = enabled
    for number in threads.indices where threads[number].yieldsTo & enabled != 0 {
      result &= ~(1 << UInt64(number))
    }
    return result != 0 ? result : enabled
  }

  /// Returns those of the `enabled` threads that can take the next step, given the privileged one.
  ///
  /// While the privileged thread waits, tasks run last: they could wait, unknown to the scheduler,
  /// for a lock that it holds.
  private static func withPrivilege(_ enabled: UInt64) -> UInt64 {
    guard privileged >= 0 else { return enabled }
    if enabled & 1 << UInt64(privileged) != 0 { return 1 << UInt64(privileged) }
    var (others, begun) = (enabled, enabled)
    for number in threads.indices where threads[number].queue?.carriesTasks == true {
      others &= ~(1 << UInt64(number))
      if !threads[number].hasBegun { begun &= ~(1 << UInt64(number)) }
    }
    return others != 0 ? others : begun != 0 ? begun : enabled
  }

  /// Returns the thread that continues if there is no reason to choose another one; advancing time
  /// comes last.
  static func preferred(_ enabled: UInt64) -> Int {
    var best = -1
    for number in threads.indices where enabled & 1 << UInt64(number) != 0 {
      if !threads[number].isTimed { return number }
      if best < 0 || threads[number].deadline < threads[best].deadline { best = number }
    }
    return best
  }

  private static func grow() {
    let larger = UnsafeMutablePointer<Step>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: steps, count: stepCount)
    steps.deallocate()
    steps = larger
    capacity *= 2
  }

  /// Passes the baton to the thread that takes the next step, and returns when `current` has it
  /// again.
  static func pass(from current: Int) {
    guard let thread = choose(after: current) else {
      explorer_pass(Carrier.main.baton)
      park()
    }
    if thread == current { return }
    // Looked up now, because the table can contain another carrier for this number later.
    let own = Carrier.of(current).baton
    explorer_pass(Carrier.of(thread).baton)
    while explorer_wait(own, 3600) == 0 {}
  }

  /// Suspends a thread of an abandoned run forever.
  private static func park() -> Never {
    while true { sleep(3600) }
  }

  /// Ends the run because of what the program does.
  static func stop(_ reason: String) -> Never {
    guard isRunning else { die(reason) }
    failure = reason
    explorer_pass(Carrier.main.baton)
    park()
  }

  static func setReady(_ number: Int) {
    threads[number].state = .ready
    threads[number].obstacle = .nothing
    enabled |= 1 << UInt64(number)
  }

  static func setWaiting(_ number: Int, _ state: VirtualThread.State) {
    threads[number].state = state
    enabled &= ~(1 << UInt64(number))
  }

  /// Ends a thread that has never begun.
  static func drop(_ number: Int) {
    threads[number].work = nil
    threads[number].state = .finished
    enabled &= ~(1 << UInt64(number))
    unfinished -= 1
  }

  // MARK: - Functions that threads call

  static func point(_ kind: Access.Kind, _ address: UInt) {
    let current = Int(explorer_self())
    if current < 0 { return }
    threads[current].access = Access(address: address, kind: kind)
    pass(from: current)
  }

  /// Lets other threads run until one of them has written something.
  static func yield() {
    let current = Int(explorer_self())
    if current < 0 {
      sched_yield()
      return
    }
    Memory.catchUp(current)
    // A thread must load every value once more before it can wait for another write.
    let news = writes - threads[current].ownWrites
    if threads[current].seenWrites != news {
      threads[current].seenWrites = news
      return
    }
    threads[current].spins += 1
    // Not from the first time on, because an unfair order can have interesting results, too.
    if threads[current].spins > 2 { threads[current].yieldsTo = enabled & ~timed & ~bit(current) }
    setWaiting(current, .spinning)
    threads[current].access = Access(address: 0, kind: .spin)
    pass(from: current)
    threads[current].seenWrites = writes - threads[current].ownWrites
  }

  private static func bit(_ number: Int) -> UInt64 { 1 << UInt64(number) }

  static func noteWrite() {
    writes += 1
    let current = Int(explorer_self())
    if current >= 0 { threads[current].ownWrites += 1 }
    for number in threads.indices where threads[number].state == .spinning { setReady(number) }
    giveWay()
  }

  /// Notes a write that ends the waits for `object`, a lock or a semaphore.
  static func noteWrite(thatEnds object: AnyObject) {
    noteWrite()
    for number in threads.indices where threads[number].obstacle.isFor(object) { setReady(number) }
    giveWay()
  }

  /// Lets the privileged thread continue immediately, if it was waiting.
  static func giveWay() {
    let current = Int(explorer_self())
    guard current >= 0, privileged >= 0, privileged != current,
      enabled & 1 << UInt64(privileged) != 0
    else { return }
    threads[current].access = Access()
    pass(from: current)
  }

  // MARK: - Reports

  /// Returns what each thread waits for.
  private static func obstacles() -> String {
    threads.indices.compactMap { number -> String? in
      let thread = threads[number]
      let name = thread.description(number)
      switch (thread.state, thread.obstacle) {
      case (.finished, _): return nil
      case (.ready, _) where thread.isPooled && !thread.hasBegun && workers < .max:
        return "\(name) waits for a worker"
      case (.ready, _): return "\(name) runs"
      case (.spinning, _): return "\(name) spins"
      case (_, .lock(let lock)):
        return "\(name) waits for a lock that "
          + (lock.holder == number
            ? "it holds itself" : "\(threads[lock.holder].description(lock.holder)) holds")
      case (_, .semaphore): return "\(name) waits for a semaphore"
      case (_, .queue(let queue)):
        let first = queue.blocks[0]
        return "\(name) waits for \(threads[first].description(first))"
      case (_, .nothing): return "\(name) waits"
      }
    }.joined(separator: ", ")
  }

  static func die(_ reason: String) -> Never {
    Session.reportDeath(reason)
    _exit(1)
  }
}
