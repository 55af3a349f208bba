// The engine's one state machine: a promise's cell, its states, and every transition between them.
// The stored words are private to this file. Each event is one method that makes the whole
// transition under the cell's lock and returns what its caller has to do next; no code of the
// program runs in here.
//
// Settlement and observers
//
//               settle                       last late observer handed over
//   pending ──────────────▶ delivering ──────────────────────────────────────▶ settled
//        └─────────────────── settle, no observer has an executor ───────────────▲
//
// - pending: `list` is the stack of observers, newest first.
// - delivering: the result can be read; the thread that settled the cell is handing observers over
//   to their executors. An observer with an executor that is attached now is added to `list`, so
//   that the order of attachment is kept. No code of the program runs in this state, except for
//   `enqueue` of custom executors.
// - settled: `list` stays empty; `slot` is the `Rejection` if there is one.
//
// Consumers and cancellation
//
//   resolver cell:   open ── cancel ─▶ cancelled ──▶ (settled)
//   operator cell:   waiting ── start ─▶ started ──▶ (settled)
//                       ▲  │                │
//                       │  └ detach ─▶ detached: waits for its executor, to find a replacement
//                       └──── adopt ────────┘
//
// - open: `slot` is the `CancelHooks`, if any.
// - waiting: `slot` is the source: the cell whose result starts the handler.
// - started: the handler runs, or has run; the source is the runner's.
// - `cancelled` (a mark in addition to any state): no consumer needs the result anymore.
//
// The consumers of a cell are the living observers in its list. An observer is removed at once if
// it is the newest; otherwise it is marked, and swept out when the marked ones outnumber the living.
// A watcher is in the list, too, but not counted: it is never removed, and has no say in cancellation.
//
// Locks: one bit of `word`, held for a handful of instructions. Only adoption takes several, in the
// order of the cells' addresses.

/// The part of a promise that doesn't depend on the type of its value.
///
/// `@unchecked Sendable`: `word` is atomic; `list` and `slot` are guarded by its lock bit, and
/// immutable once the cell is settled; the value in a subclass is written by the one thread that
/// settles the cell, before the settled state is published.
@usableFromInline
class Cell: Job, @unchecked Sendable {
  /// The marks below, and the two counts.
  private final let word: AtomicWord
  /// The newest observer, retained.
  @exclusivity(unchecked) private final var list: Unmanaged<Handler>?
  /// The source, the cancel hooks or the rejection, retained.
  @exclusivity(unchecked) private final var slot: Unmanaged<AnyObject>?

  /// Makes a pending cell that a resolver settles.
  @usableFromInline
  override init() {
    word = AtomicWord(0)
    super.init()
  }

  /// Makes a settled cell.
  @usableFromInline
  init(settled rejection: Rejection?) {
    word = AtomicWord(Mark.settled | Mark.started)
    super.init()
    slot = rejection.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
  }

  /// Makes a cell whose handler waits for `source`.
  fileprivate init(traits: UInt64, source: __shared Cell?) {
    word = AtomicWord(traits | Mark.handler)
    super.init()
    slot = source.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
  }

  deinit {
    Instrumentation.note(self, .released)
    slot?.release()
    // Living observers hold their source; so these were removed.
    if let list { ObserverList.release(list) }
  }

  /// The bits of `word`.
  enum Mark {
    static let locked: UInt64 = 1 << 0
    static let settled: UInt64 = 1 << 1
    static let delivering: UInt64 = 1 << 2
    /// A thread is about to settle the cell, and no other thread can.
    static let claimed: UInt64 = 1 << 3

    static let started: UInt64 = 1 << 4
    /// The handler returned a promise, and waits for that.
    static let adopting: UInt64 = 1 << 5
    static let detached: UInt64 = 1 << 6
    static let cancelled: UInt64 = 1 << 7

    /// An observer has an executor.
    static let hasExecutor: UInt64 = 1 << 8
    /// A cell that adopts this one has been among the observers.
    static let adopted: UInt64 = 1 << 9
    /// A consumer left on purpose, so that an error without consumers was not forgotten.
    static let left: UInt64 = 1 << 10
    /// A consumer left that needs the producer to continue.
    static let kept: UInt64 = 1 << 11

    // Traits: set when the cell is made.
    static let handler: UInt64 = 1 << 13
    static let wantsValue: UInt64 = 1 << 14
    static let wantsRejection: UInt64 = 1 << 15
    static let wants = wantsValue | wantsRejection
    /// The handler's target is a `DispatchQueue`, not a `Scheduler`.
    static let queueTarget: UInt64 = 1 << 16
    /// The handler takes a visit of that queue for itself.
    static let visit: UInt64 = 1 << 12
    /// Cancellation stops here and does not reach the source.
    static let uncancellable: UInt64 = 1 << 17
    /// The handler is called for an abandoned source, too.
    static let hearsAbandonment: UInt64 = 1 << 18
    /// The closure belongs to the program and runs in place.
    static let programInPlace: UInt64 = 1 << 19
    /// The handler only watches its source: it is no consumer.
    static let watcher: UInt64 = 1 << 20

    /// The marks that say whether a cell waits for one that it adopts: `adopting` alone.
    static let adopter = adopting | started | detached | cancelled | settled
    /// The marks that say whether such a cell may be taken out: `adopting` and `adopted` alone.
    static let middle = adopter | adopted | kept | watched

    /// A consumer was given the rejection of the settled cell.
    static let hadOne: UInt64 = 1 << 21
    /// Several consumers were.
    static let hadMany: UInt64 = 1 << 22
    /// A watcher has been among the observers.
    static let watched: UInt64 = 1 << 23
    /// One observer that was removed and is still in the list.
    static let removed: UInt64 = 1 << 24
    /// One consumer among the observers.
    static let living: UInt64 = 1 << 35

    static let maximumRemoved: UInt64 = 0x7FF
    static func removedCount(_ word: UInt64) -> UInt64 { (word >> 24) & maximumRemoved }
    static func livingCount(_ word: UInt64) -> UInt64 { word >> 35 }
    /// The word of a settled cell whose result is given to one consumer more.
    static func addingConsumer(_ word: UInt64) -> UInt64 {
      word | (word & hadOne == 0 ? hadOne : hadMany)
    }
    /// All but the counts.
    static let marks = removed - 1
  }

  /// What an operator's handler wants to be called for.
  @usableFromInline
  enum Input {
    @usableFromInline static let wantsValue: UInt64 = 1 << 14
    @usableFromInline static let wantsRejection: UInt64 = 1 << 15
    @usableFromInline static let queueTarget: UInt64 = 1 << 16
    @usableFromInline static let uncancellable: UInt64 = 1 << 17
    @usableFromInline static let hearsAbandonment: UInt64 = 1 << 18
    @usableFromInline static let programInPlace: UInt64 = 1 << 19
    @usableFromInline static let watcher: UInt64 = 1 << 20
  }

  // MARK: - The lock

  /// Locks the cell; returns `word` as it was.
  @inline(__always)
  private final func lock() -> UInt64 { lock(word.load(ordering: .relaxed)) }

  /// Locks the cell, whose word was `seen` a moment ago.
  @inline(__always)
  private final func lock(_ seen: UInt64) -> UInt64 {
    tryLock(seen) ?? lockSlowly()
  }

  @inline(never)
  private final func lockSlowly() -> UInt64 {
    var backoff = Backoff()
    while true {
      let seen = word.load(ordering: .relaxed)
      if seen & Mark.locked != 0 {
        backoff.wait()
      } else if let now = tryLock(seen) {
        return now
      }
    }
  }

  /// Locks the cell, whose word was `seen` a moment ago, if it is free.
  @inline(__always)
  private final func tryLock(_ seen: UInt64) -> UInt64? {
    guard seen & Mark.locked == 0 else { return nil }
    let (done, now) = word.weakCompareExchange(
      expected: seen, desired: seen | Mark.locked, ordering: .acquiring)
    return done ? now : nil
  }

  /// Locks the cell in addition to locked ones, of which `highest` has the highest address.
  ///
  /// Threads wait for locks in the order of the addresses only; nil if this one would have to wait
  /// out of turn: it has to unlock the others and begin again.
  fileprivate final func lock(above highest: UInt) -> UInt64? {
    if address > highest { return lock() }
    // Not `tryLock`, which may see an old word: a thread that tries again has to see the lock free.
    let seen = word.bitwiseOr(Mark.locked, ordering: .acquiring).oldValue
    return seen & Mark.locked == 0 ? seen : nil
  }

  @inline(__always)
  fileprivate final var address: UInt {
    UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
  }

  /// Unlocks the cell and makes `next` its word.
  @inline(__always)
  fileprivate final func unlock(_ next: UInt64) {
    word.unlock(storing: next)
  }

  // MARK: - Reading

  /// Whether the result can be read.
  @usableFromInline
  final var isSettled: Bool { word.load(ordering: .acquiring) & Mark.settled != 0 }

  /// What a settled cell holds, if it is settled.
  @usableFromInline
  enum Glance {
    case notSettled
    case rejected
    case resolverValue
    case handlerValue
  }

  /// What the cell holds now.
  @usableFromInline
  final var glance: Glance {
    let seen = word.load(ordering: .acquiring)
    if seen & Mark.settled == 0 { return .notSettled }
    if slot != nil { return .rejected }
    return seen & Mark.handler != 0 ? .handlerValue : .resolverValue
  }

  /// Whether the result can be read and every observer has been handed over.
  final var isQuiet: Bool {
    word.load(ordering: .acquiring) & (Mark.settled | Mark.delivering) == Mark.settled
  }

  /// The traits, and the other marks as they were a moment ago.
  @inline(__always)
  final var marks: UInt64 { word.load(ordering: .acquiring) }

  @usableFromInline
  final var isHandler: Bool { word.load(ordering: .relaxed) & Mark.handler != 0 }

  /// Why the cell was rejected, or nil.
  ///
  /// Asked of settled cells only.
  @usableFromInline
  final var rejection: Rejection? {
    guard let slot else { return nil }
    return unsafeDowncast(slot.takeUnretainedValue(), to: Rejection.self)
  }

  /// Whether the cell was rejected.
  ///
  /// Asked of settled cells only.
  final var isRejected: Bool { slot != nil }

  /// Whether this settled cell's rejection was given to a consumer, or to several.
  final var hadConsumer: Bool { marks & Mark.hadOne != 0 }
  final var hadManyConsumers: Bool { marks & Mark.hadMany != 0 }

  // MARK: - Settling

  /// Wins the right to settle a resolver's cell; on true the caller writes the value, runs no code
  /// of the program, and calls `publish`: the cell is locked until then.
  @usableFromInline
  final func claim() -> Bool {
    if word.load(ordering: .relaxed) & Mark.settled != 0 { return false }
    let seen = lock()
    if seen & (Mark.settled | Mark.claimed) != 0 {
      unlock(seen)
      return false
    }
    return true
  }

  /// As `claim`, unless the promise was cancelled: then the canceller rejects it.
  final func claimUnlessCancelled() -> Bool {
    let seen = lock()
    if seen & (Mark.settled | Mark.claimed | Mark.cancelled) != 0 {
      unlock(seen)
      return false
    }
    return true
  }

  /// Settles the claimed cell.
  @usableFromInline
  final func publish(_ rejection: Rejection? = nil) {
    settle(word.load(ordering: .relaxed) & ~Mark.locked, rejection)
  }

  /// Settles the cell of a handler that has run.
  ///
  /// - Returns: Whether that was done; not if it was fulfilled and has been cancelled.
  @usableFromInline
  final func settleOperator(_ rejection: Rejection? = nil) -> Bool {
    let seen = lock()
    if rejection == nil {
      if seen & Mark.cancelled != 0 {
        unlock(seen)
        return false
      }
      // The most frequent way to settle: a value, and one observer that runs in place.
      if seen & (Mark.hasExecutor | Mark.watched) == 0, Mark.livingCount(seen) == 1,
        Mark.removedCount(seen) == 0, !Instrumentation.isTracing, let only = list
      {
        list = nil
        unlock(seen & Mark.marks | Mark.settled)
        Delivery.deliverOnly(only)
        return true
      }
    }
    settle(seen, rejection)
    return true
  }

  /// Makes the result of the locked cell visible and delivers it.
  @inline(__always)
  private final func settle(_ seen: UInt64, _ rejection: Rejection?) {
    var seen = seen
    if Instrumentation.isTracing {
      // Reported before other threads can see it, and without the lock.
      unlock(seen | Mark.claimed)
      Instrumentation.note(self, .settled(rejection))
      seen = lock()
    }
    let observers = list
    let hooks = slot
    list = nil
    slot = rejection.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
    var settled = seen & Mark.marks | Mark.settled
    // Its consumers have left on purpose.
    if let rejection, seen & Mark.left != 0, Mark.livingCount(seen) == 0 { rejection.markHandled() }
    if let observers {
      if rejection != nil {
        if Mark.livingCount(seen) > 0 { settled |= Mark.hadOne }
        if Mark.livingCount(seen) > 1 { settled |= Mark.hadMany }
      }
      let mustKeepOrder = seen & Mark.hasExecutor != 0
      unlock(mustKeepOrder ? settled | Mark.delivering : settled)
      Delivery.deliver(
        observers, of: self, wanted: Delivery.wanted(rejection), inOrder: mustKeepOrder)
    } else {
      unlock(settled)
    }
    // Releasing the unused hooks can run a `deinit` of the program: last.
    if let hooks { CancelHooks.discard(hooks) }
  }

  /// The observers that were attached while others were handed over, newest first; nil if there are
  /// none, and the delivery is then complete.
  final func takeLateObservers() -> Unmanaged<Handler>? {
    let seen = lock()
    let late = list
    list = nil
    unlock(late == nil ? seen & Mark.marks & ~Mark.delivering : seen & Mark.marks)
    return late
  }

  // MARK: - Observers

  /// Adds an observer; false if the result already exists and must be delivered to it.
  final func add(_ observer: Handler) -> Bool {
    let isWatcher = observer.marks & Mark.watcher != 0
    var seen = word.load(ordering: .acquiring)
    if seen & (Mark.settled | Mark.delivering) == Mark.settled {
      if !isWatcher { noteConsumer() }
      return false
    }
    seen = lock(seen)
    if seen & Mark.settled != 0 {
      // One that runs in place has no order to keep, and doesn't wait.
      if !isWatcher { seen = Mark.addingConsumer(seen) }
      if seen & Mark.delivering == 0 || observer.target == nil {
        unlock(seen)
        return false
      }
    }
    observer.next = HandlerLink(list, .listed)
    list = .passRetained(observer)
    var next = isWatcher ? seen | Mark.watched : seen &+ Mark.living
    if observer.target != nil { next |= Mark.hasExecutor }
    unlock(next)
    return true
  }

  /// Notes that a consumer is given the result of this settled cell, if that is a rejection.
  @inline(__always)
  private final func noteConsumer() {
    if slot != nil { noteConsumerOfRejection() }
  }

  @usableFromInline @inline(never)
  final func noteConsumerOfRejection() {
    let seen = lock()
    unlock(Mark.addingConsumer(seen))
  }

  /// The effect of removing an observer.
  enum Removal {
    /// It was not in the list: the cell has settled, or the observer is yet to be attached.
    case notListed
    /// Other consumers remain.
    case removed
    /// No consumer remains.
    case removedLast
    /// It is the only consumer, and was left in the list, to receive the cancellation.
    case isOnly
  }

  /// Removes an observer.
  ///
  /// - Parameters:
  ///   - keepsProducer: Whether the consumer that leaves needs the producer to continue
  ///     nevertheless.
  ///   - unlessOnly: Whether the only consumer is to stay.
  final func remove(
    _ observer: Handler, keepsProducer: Bool = false, unlessOnly: Bool = false
  ) -> Removal {
    let seen = lock()
    if seen & Mark.settled != 0 || observer.next.state != .listed {
      unlock(seen)
      return .notListed
    }
    let isLast = Mark.livingCount(seen) == 1 && seen & Mark.kept == 0
    if unlessOnly, isLast {
      unlock(seen)
      return .isOnly
    }
    var next = (seen &- Mark.living) | Mark.left
    if keepsProducer { next |= Mark.kept }
    observer.next.state = .removed
    let unlinked = unlinkRemoved(&next, list.unsafelyUnwrapped)
    unlock(next)
    if let unlinked { ObserverList.release(unlinked) }
    return isLast && !keepsProducer ? .removedLast : .removed
  }

  /// Removes marked observers from the list: all of them if there are many, otherwise the newest
  /// ones.
  private final func unlinkRemoved(_ word: inout UInt64, _ newest: Unmanaged<Handler>)
    -> Unmanaged<Handler>?
  {
    word &+= Mark.removed
    let removed = Mark.removedCount(word)
    let isMany =
      removed == Mark.maximumRemoved || (removed > 16 && removed > Mark.livingCount(word))
    let (rest, unlinked, count) = ObserverList.unlinkRemoved(newest, all: isMany)
    list = rest
    word &-= Mark.removed &* UInt64(count)
    return unlinked
  }

  /// Notes that a consumer that never was in the list needs the producer to continue, and handles
  /// its rejection.
  final func keep() {
    let seen = lock()
    unlock(seen & Mark.settled == 0 ? seen | Mark.kept | Mark.left : seen)
    if seen & Mark.settled != 0 { rejection?.markHandled() }
  }

  /// The number of consumers in the list, including those that were removed and not yet swept out.
  final var listedObserverCount: Int {
    let seen = word.load(ordering: .acquiring)
    return Int(Mark.livingCount(seen) + Mark.removedCount(seen))
  }

  /// Whether the cell is pending and has no consumer.
  final var isUnconsumed: Bool {
    let seen = word.load(ordering: .acquiring)
    return Mark.livingCount(seen) == 0 && seen & (Mark.settled | Mark.kept) == 0
  }

  // MARK: - The handler

  /// Begins to run the handler, once; returns its source, which the caller has to release.
  ///
  /// Nil if it has begun already, or was detached and is for its executor to run.
  @inline(__always)
  final func start(isInPlace: Bool, hasTarget: Bool) -> Unmanaged<Cell>? {
    let seen = lock()
    if seen & (Mark.started | Mark.detached) != 0 {
      let isForExecutor = isInPlace && hasTarget && seen & Mark.wantsRejection != 0
      if seen & Mark.started != 0 || isForExecutor {
        unlock(seen)
        return nil
      }
    }
    let source = slot
    slot = nil
    unlock(seen | Mark.started)
    return source.map { .fromOpaque($0.toOpaque()) }
  }

  /// Replaces the source of a handler that has not started by `replacement`, a settled cell.
  ///
  /// - Returns: The old source, from which the handler is to be removed; nil if it is too late.
  final func detach(finding replacement: Cell, isCancellation: Bool) -> Cell? {
    let seen = lock()
    if seen & (Mark.started | Mark.detached | Mark.settled) != 0 {
      unlock(seen)
      return nil
    }
    let source = slot
    slot = .fromOpaque(Unmanaged.passRetained(replacement).toOpaque())
    unlock(seen | Mark.detached | (isCancellation ? Mark.cancelled : 0))
    return source.map { unsafeDowncast($0.takeRetainedValue(), to: Cell.self) }
  }

  /// Makes the running handler wait again, in no cell's list, until it is detached; false if it was
  /// cancelled while it ran.
  final func waitToBeDetached(from source: Cell) -> Bool {
    let seen = lock()
    if seen & Mark.cancelled != 0 {
      unlock(seen)
      return false
    }
    slot = .fromOpaque(Unmanaged.passRetained(source).toOpaque())
    unlock(seen & ~(Mark.started | Mark.wants))
    return true
  }

  /// What a pending cell waits for, at one moment.
  enum Upstream {
    /// The handler waits for its source, or for its executor; the marks say for which results it
    /// needs that.
    case source(Cell, marks: UInt64)
    /// What settles a resolver's cell; see ``CancelHooks/producer``.
    case producer(AnyObject)
    /// The cell has settled, its handler runs, or nothing is known.
    case unknown
  }

  final var upstream: Upstream {
    let seen = lock()
    defer { unlock(seen) }
    guard seen & (Mark.settled | Mark.started) == 0, let object = slot?.takeUnretainedValue() else {
      return .unknown
    }
    if seen & Mark.handler != 0 {
      return .source(unsafeDowncast(object, to: Cell.self), marks: seen)
    }
    return unsafeDowncast(object, to: CancelHooks.self).producer.map { .producer($0) } ?? .unknown
  }

  // MARK: - Adoption

  /// The result of an attempt to adopt a cell.
  enum Adoption {
    /// The adopter was cancelled while its closure ran.
    case refused
    case adopted
    /// The result is there: pass it on.
    case settled
  }

  /// Makes this cell, whose handler runs and returned the promise of `inner`, an observer of that.
  ///
  /// One step, under both locks: a cell that adopts another one is in its list.
  final func adoptPending(_ inner: Cell) -> Adoption {
    let isFirst = address < inner.address
    let first = (isFirst ? self : inner).lock()
    let second = (isFirst ? inner : self).lock()
    let (mine, its) = isFirst ? (first, second) : (second, first)
    let refusal: Adoption? =
      mine & Mark.cancelled != 0 ? .refused : its & Mark.settled != 0 ? .settled : nil
    if let refusal {
      inner.unlock(its)
      unlock(mine)
      return refusal
    }
    slot = .fromOpaque(Unmanaged.passRetained(inner).toOpaque())
    let observer = unsafeDowncast(self, to: Handler.self)
    observer.next = HandlerLink(inner.list, .listed)
    inner.list = .passRetained(observer)
    // It passes the result on in place, without its executor, if it has one.
    inner.unlock((its &+ Mark.living) | Mark.adopted)
    unlock((mine & ~(Mark.started | Mark.wants)) | Mark.adopting)
    return .adopted
  }

  /// Whether a cell that adopts this one has been among its observers.
  final var wasAdopted: Bool { marks & Mark.adopted != 0 }

  /// The cell whose result this one's promise adopts, if it waits for one.
  final var adoptedSource: Cell? {
    // Locked: of threads that close a cycle together, the last one must find it closed.
    let seen = lock()
    let isWaiting = seen & (Mark.adopting | Mark.started | Mark.detached) == Mark.adopting
    let source = isWaiting ? slot?.takeUnretainedValue() : nil
    unlock(seen)
    return source.map { unsafeDowncast($0, to: Cell.self) }
  }

  /// Whether the cell adopted one a moment ago.
  final var wasAdopting: Bool { marks & Mark.adopting != 0 }

  /// The result of an attempt to take an observer out of the middle.
  enum Contraction {
    /// It is not in the middle.
    case notInTheMiddle
    /// It is in the middle, but the program or a thread holds it.
    case held(Handler)
    /// Its own observer is this cell's now.
    case takenOut
  }

  /// Takes the newest observer out if it is in the middle, and nothing else refers to it.
  ///
  /// In the middle is an observer that adopts this cell, and that is adopted by its only observer,
  /// which takes its place.
  ///
  /// One step, under the locks of the three cells. They keep the pointers valid, which are not
  /// references: those are counted.
  final func takeOutObserver() -> Contraction {
    // Unlocked, for the many that no cell adopts; the thread that adopts it looks again.
    if marks & (Mark.adopted | Mark.settled) != Mark.adopted { return .notInTheMiddle }
    var backoff = Backoff()
    while true {
      let seen = lock()
      guard seen & Mark.settled == 0, let middle = list else {
        unlock(seen)
        return .notInTheMiddle
      }
      guard let middleSeen = ObserverList.lock(middle, above: address) else {
        unlock(seen)
        backoff.wait()
        continue
      }
      guard let outer = onlyAdopter(of: middle, middleSeen) else {
        ObserverList.unlock(middle, middleSeen)
        unlock(seen)
        return .notInTheMiddle
      }
      let highest = max(address, middle._withUnsafeGuaranteedRef { $0.address })
      guard let outerSeen = ObserverList.lock(outer, above: highest) else {
        ObserverList.unlock(middle, middleSeen)
        unlock(seen)
        backoff.wait()
        continue
      }
      let (result, unlinked) = takeOut(middle, between: outer, outerSeen)
      ObserverList.unlock(outer, outerSeen)
      ObserverList.unlock(middle, middleSeen)
      unlock(seen)
      if case .takenOut = result { middle.release() }
      if let unlinked { ObserverList.release(unlinked) }
      return result
    }
  }

  /// The only observer of `middle`, a locked observer of this locked cell, if it may be in the middle.
  private final func onlyAdopter(of middle: Unmanaged<Handler>, _ seen: UInt64)
    -> Unmanaged<Handler>?
  {
    guard seen & Mark.middle == Mark.adopting | Mark.adopted, Mark.livingCount(seen) == 1,
      let outer = middle._withUnsafeGuaranteedRef({ $0.list }),
      outer.toOpaque() != Unmanaged.passUnretained(self).toOpaque()
    else { return nil }
    return outer
  }

  /// Makes `outer` an observer of this cell in place of `middle`, whose only observer it is, if nothing
  /// else refers to that.
  ///
  /// All three are locked.
  ///
  /// - Returns: What was done, and former observers of `middle`, which the caller releases; so it does
  ///   with `middle`.
  private final func takeOut(
    _ middle: Unmanaged<Handler>, between outer: Unmanaged<Handler>, _ outerSeen: UInt64
  ) -> (Contraction, unlinked: Unmanaged<Handler>?) {
    let isInTheMiddle =
      outerSeen & Mark.adopter == Mark.adopting
      && outer._withUnsafeGuaranteedRef { $0.slot?.toOpaque() } == middle.toOpaque()
    guard isInTheMiddle else { return (.notInTheMiddle, nil) }
    // Two references are the engine's: that of this cell's list, and that of the slot of `outer`.
    middle.release()
    guard ObserverList.isUniquelyReferenced(middle) else {
      return (.held(middle.retain().takeUnretainedValue()), nil)
    }
    return middle._withUnsafeGuaranteedRef { middle in
      outer._withUnsafeGuaranteedRef { outer in
        let unlinked = outer.next.pointer
        outer.next = HandlerLink(middle.next.pointer, .listed)
        // References move with the pointers.
        outer.slot = middle.slot
        list = middle.list
        middle.slot = nil
        middle.list = nil
        return (.takenOut, unlinked)
      }
    }
  }

  // MARK: - Cancellation

  /// What a request to cancel must do next.
  enum CancellationStep {
    /// Nothing: the cell has settled, or was already cancelled, or its handler runs and will find
    /// the mark.
    case done
    /// Notify the producer, then reject the cell.
    case producer(CancelHooks?)
    /// Stop consuming this cell.
    case source(Cell, isUncancellable: Bool)
  }

  /// Marks the cell as cancelled.
  final func requestCancellation() -> CancellationStep {
    let seen = lock()
    if seen & (Mark.settled | Mark.claimed | Mark.cancelled) != 0 {
      unlock(seen)
      return .done
    }
    if seen & Mark.handler == 0 {
      let hooks = slot
      slot = nil
      unlock(seen | Mark.cancelled)
      return .producer(hooks.map { unsafeDowncast($0.takeRetainedValue(), to: CancelHooks.self) })
    }
    let source = seen & Mark.started == 0 ? slot?.takeUnretainedValue() : nil
    unlock(seen | Mark.cancelled)
    guard let source else { return .done }
    return .source(
      unsafeDowncast(source, to: Cell.self), isUncancellable: seen & Mark.uncancellable != 0)
  }

  /// Whether cancellation of this promise was requested.
  @usableFromInline
  final var isCancelled: Bool { word.load(ordering: .acquiring) & Mark.cancelled != 0 }

  /// Passes the cancel hooks of a resolver's cell to `change`, unless they are no longer needed.
  ///
  /// - Returns: Whether that was done, and otherwise whether the promise was cancelled.
  final func withCancelHooks(_ change: (CancelHooks) -> Void) -> (added: Bool, isCancelled: Bool) {
    let fresh = CancelHooks()
    let seen = lock()
    if seen & (Mark.settled | Mark.claimed | Mark.cancelled) != 0 {
      unlock(seen)
      return (false, seen & Mark.cancelled != 0)
    }
    if slot == nil { slot = .fromOpaque(Unmanaged.passRetained(fresh).toOpaque()) }
    change(unsafeDowncast(slot.unsafelyUnwrapped.takeUnretainedValue(), to: CancelHooks.self))
    unlock(seen)
    return (true, false)
  }
}

/// A cell that a handler settles: both the promise that an operator returns and the observer that
/// waits in the list of the promise on which the operator was called.
///
/// One object per link.
///
/// `target` is retained manually, so that reading it doesn't count a reference. `run` and `body`
/// replace one generic closure: `run` is a closure without captures that contains the types, `body`
/// the program's closure with its type erased.
///
/// `@unchecked Sendable`: `next` is guarded by the lock of the source, and belongs to the thread that
/// has taken the source's list; `body` belongs to the thread that starts the handler; the rest is
/// immutable.
@usableFromInline
class Handler: Cell, @unchecked Sendable {
  @exclusivity(unchecked) fileprivate final var next = HandlerLink(nil, .unlisted)
  final let target: Unmanaged<AnyObject>?
  @usableFromInline final let run: @Sendable (Handler, Cell) -> Void
  @exclusivity(unchecked) @usableFromInline final var body: ErasedClosure?

  /// `source` and `target` are shared: so each is retained once.
  @usableFromInline
  init(
    input: UInt64, source: __shared Cell, target: __shared AnyObject?,
    body: __owned ErasedClosure?, run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.target = target.map { .passRetained($0) }
    // Only a closure of the program can read the task-local values.
    if Instrumentation.capturesContext, body != nil {
      self.run = Instrumentation.capturingContext(run)
    } else {
      self.run = run
    }
    self.body = body
    super.init(traits: input, source: source)
  }

  deinit { target?.release() }

  override final func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    runHandler(state, isInPlace: isInPlace)
  }

  override final var queue: Unmanaged<AnyObject>? {
    if marks & Mark.queueTarget != 0 { return target }
    return target?._withUnsafeGuaranteedRef { unsafeDowncast($0, to: Scheduler.self).dispatchQueue }
  }

  override final var callsProgramInPlace: Bool { marks & Mark.programInPlace != 0 }
}

/// The link of an observer to the next older one, and whether it was removed.
struct HandlerLink {
  enum State: UInt {
    case unlisted
    case listed
    case removed
  }

  private var bits: UInt

  @inline(__always)
  init(_ pointer: Unmanaged<Handler>?, _ state: State) {
    bits = UInt(bitPattern: pointer?.toOpaque()) | state.rawValue
  }

  @inline(__always)
  var pointer: Unmanaged<Handler>? {
    UnsafeRawPointer(bitPattern: bits & ~3).map { .fromOpaque($0) }
  }

  @inline(__always)
  var state: State {
    get { State(rawValue: bits & 3).unsafelyUnwrapped }
    set { bits = bits & ~3 | newValue.rawValue }
  }
}

/// Operations on observers that are linked by `next`.
///
/// The caller holds the lock of the cell whose list it is, or has taken the list.
enum ObserverList {
  typealias Node = Unmanaged<Handler>

  // Fields are accessed inside the closures: what they returned would be one more reference.

  /// The next older observer.
  @inline(__always)
  static func next(_ node: Node) -> Node? { node._withUnsafeGuaranteedRef { $0.next.pointer } }

  @inline(__always)
  static func setNext(_ node: Node, _ next: Node?, _ state: HandlerLink.State = .unlisted) {
    node._withUnsafeGuaranteedRef { $0.next = HandlerLink(next, state) }
  }

  @inline(__always)
  static func isRemoved(_ node: Node) -> Bool {
    node._withUnsafeGuaranteedRef { $0.next.state == .removed }
  }

  /// As `Cell.lock(above:)`.
  @inline(__always)
  static func lock(_ node: Node, above highest: UInt) -> UInt64? {
    node._withUnsafeGuaranteedRef { $0.lock(above: highest) }
  }

  @inline(__always)
  static func unlock(_ node: Node, _ word: UInt64) {
    node._withUnsafeGuaranteedRef { $0.unlock(word) }
  }

  /// Whether there is one strong reference to the observer.
  ///
  /// The pointer is looked at as a reference where it lies, so that this counts none.
  @inline(__always)
  static func isUniquelyReferenced(_ node: Node) -> Bool {
    var node = node
    return withUnsafeMutablePointer(to: &node) {
      $0.withMemoryRebound(to: Handler.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }

  /// Turns a stack, newest first, into a list, oldest first, and drops the removed ones from it.
  @inline(__always)
  static func oldestFirst(_ newest: Node) -> Node? {
    var rest: Node? = newest
    var reversed: Node?
    while let node = rest {
      rest = next(node)
      if isRemoved(node) {
        node.release()
      } else {
        setNext(node, reversed)
        reversed = node
      }
    }
    return reversed
  }

  /// Takes removed observers out of a stack: all of them, or those above the newest living one.
  static func unlinkRemoved(
    _ newest: Node, all: Bool
  ) -> (rest: Node?, unlinked: Node?, count: Int) {
    var rest: Node?
    var last: Node?
    var unlinked: Node?
    var count = 0
    var current: Node? = newest
    while let node = current {
      let following = next(node)
      if isRemoved(node) {
        setNext(node, unlinked, .removed)
        unlinked = node
        count += 1
      } else {
        if let last { setNext(last, node, .listed) } else { rest = node }
        last = node
        if !all { return (rest, unlinked, count) }
      }
      current = following
    }
    if let last { setNext(last, nil, .listed) }
    return (rest, unlinked, count)
  }

  /// Releases all observers of a list.
  static func release(_ list: Node) {
    var rest: Node? = list
    while let node = rest {
      rest = next(node)
      setNext(node, nil)
      node.release()
    }
  }
}
