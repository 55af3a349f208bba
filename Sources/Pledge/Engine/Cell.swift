// The engine's state machine: the cell of a promise, its states, and every transition between them.
// `word`, `list`, and `slot` are private to this file. Each event is one method that makes a
// complete transition under the cell's lock and returns what its caller must do next. No user code
// runs while the lock is held; settling also delivers the observers, after the transition.
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
//   that the order of attachment is preserved. No user code runs in this state, except for
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
// - started: the handler is running or has run; the thread that started it holds the source.
// - `cancelled` (a mark in addition to any state): no consumer needs the result anymore.
//
// The consumers of a cell are the live observers in its list. A removed observer is unlinked
// immediately if it is the newest; otherwise it is marked, and swept when marked observers
// outnumber live ones. A watcher is in the list but isn't counted: it is never removed, and doesn't
// affect cancellation.
//
// The lock is one bit of `word`, held for a few instructions. Only adoption holds two locks, and
// contraction three; they acquire them in the order of the cells' addresses.

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
  /// The source, the cancel hooks, or the rejection, retained.
  @exclusivity(unchecked) private final var slot: Unmanaged<AnyObject>?

  /// Creates a pending cell that a resolver settles.
  @usableFromInline
  override init() {
    word = AtomicWord(0)
    super.init()
  }

  /// Creates a settled cell.
  @usableFromInline
  init(settled rejection: Rejection?) {
    word = AtomicWord(Mark.settled | Mark.started)
    super.init()
    slot = rejection.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
  }

  /// Creates a cell whose handler waits for `source`.
  fileprivate init(traits: UInt64, source: __shared Cell?) {
    word = AtomicWord(traits | Mark.handler)
    super.init()
    slot = source.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
  }

  deinit {
    Instrumentation.note(self, .released)
    slot?.release()
    // Live observers retain their source, so these were removed.
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
    /// The handler returned a promise and waits for it.
    static let adopting: UInt64 = 1 << 5
    static let detached: UInt64 = 1 << 6
    static let cancelled: UInt64 = 1 << 7

    /// An observer has an executor.
    static let hasExecutor: UInt64 = 1 << 8
    /// A cell that adopts this one has been among the observers.
    static let adopted: UInt64 = 1 << 9
    /// A consumer was removed on purpose: if none remains, an error counts as handled.
    static let left: UInt64 = 1 << 10
    /// A consumer was removed that needs the producer to continue.
    static let kept: UInt64 = 1 << 11

    // Traits: set when the cell is created.
    static let handler: UInt64 = 1 << 13
    static let wantsValue: UInt64 = 1 << 14
    static let wantsRejection: UInt64 = 1 << 15
    static let wants = wantsValue | wantsRejection
    /// The handler's target is a `DispatchQueue`, not a `Scheduler`.
    static let queueTarget: UInt64 = 1 << 16
    /// The handler takes a separate turn on that queue.
    static let visit: UInt64 = 1 << 12
    /// Cancellation stops here and doesn't reach the source.
    static let uncancellable: UInt64 = 1 << 17
    /// The handler is called for an abandoned source, too.
    static let hearsAbandonment: UInt64 = 1 << 18
    /// The closure is user code and runs in place.
    static let programInPlace: UInt64 = 1 << 19
    /// The handler only watches its source: it isn't a consumer.
    static let watcher: UInt64 = 1 << 20

    /// A cell waits for one that it adopts if, of these marks, only `adopting` is set.
    static let adopter = adopting | started | detached | cancelled | settled
    /// Such a cell can be removed from the middle if only `adopting` and `adopted` are set.
    static let middle = adopter | adopted | kept | watched

    /// The rejection of the settled cell was passed to a consumer.
    static let hadOne: UInt64 = 1 << 21
    /// It was passed to several consumers.
    static let hadMany: UInt64 = 1 << 22
    /// A watcher has been among the observers.
    static let watched: UInt64 = 1 << 23
    /// The unit of the count of removed observers that are still in the list.
    static let removed: UInt64 = 1 << 24
    /// The unit of the count of consumers.
    static let living: UInt64 = 1 << 35

    static let maximumRemoved: UInt64 = 0x7FF
    static func removedCount(_ word: UInt64) -> UInt64 { (word >> 24) & maximumRemoved }
    static func livingCount(_ word: UInt64) -> UInt64 { word >> 35 }
    /// The word of a settled cell after its result is passed to one more consumer.
    static func addingConsumer(_ word: UInt64) -> UInt64 {
      word | (word & hadOne == 0 ? hadOne : hadMany)
    }
    /// All bits except the counts.
    static let marks = removed - 1
  }

  /// The traits that an operator can give its handler, as in `Mark`.
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

  /// Locks the cell and returns the word without the lock bit.
  @inline(__always)
  private final func lock() -> UInt64 { lock(word.load(ordering: .relaxed)) }

  /// Locks the cell; `seen` is a recently read word.
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

  /// Locks the cell if it is unlocked; `seen` is a recently read word.
  @inline(__always)
  private final func tryLock(_ seen: UInt64) -> UInt64? {
    guard seen & Mark.locked == 0 else { return nil }
    let (done, now) = word.compareExchange(
      expected: seen, desired: seen | Mark.locked, ordering: .acquiring)
    return done ? now : nil
  }

  /// Locks the cell in addition to other locked cells, the highest of which has the address
  /// `highest`.
  ///
  /// Threads wait for locks only in the order of addresses. Returns nil if this thread would have
  /// to wait out of order: it must unlock the others and start over.
  fileprivate final func lock(above highest: UInt) -> UInt64? {
    if address > highest { return lock() }
    // Not `tryLock`, which can read an outdated word: a thread that retries must see that the lock
    // is free.
    let seen = word.bitwiseOr(Mark.locked, ordering: .acquiring)
    return seen & Mark.locked == 0 ? seen : nil
  }

  @inline(__always)
  fileprivate final var address: UInt {
    UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
  }

  /// Unlocks the cell and stores `next` as its word.
  @inline(__always)
  fileprivate final func unlock(_ next: UInt64) {
    word.unlock(storing: next)
  }

  // MARK: - Reading

  /// Whether the result can be read.
  @usableFromInline
  final var isSettled: Bool { word.load(ordering: .acquiring) & Mark.settled != 0 }

  /// What a cell holds, if it is settled.
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

  /// A snapshot of the word.
  @inline(__always)
  final var marks: UInt64 { word.load(ordering: .acquiring) }

  @usableFromInline
  final var isHandler: Bool { word.load(ordering: .relaxed) & Mark.handler != 0 }

  /// The rejection of this cell, which must be settled; nil if it was fulfilled.
  @usableFromInline
  final var rejection: Rejection? {
    guard let slot else { return nil }
    return unsafeDowncast(slot.takeUnretainedValue(), to: Rejection.self)
  }

  /// Whether this cell, which must be settled, was rejected.
  final var isRejected: Bool { slot != nil }

  /// Whether this settled cell's rejection was passed to at least one consumer.
  final var hadConsumer: Bool { marks & Mark.hadOne != 0 }
  final var hadManyConsumers: Bool { marks & Mark.hadMany != 0 }

  // MARK: - Settling

  /// Claims the right to settle a resolver's cell; false if it is already claimed or settled.
  ///
  /// If this returns true, the cell is locked: the caller must write the value and call `publish`
  /// without running user code in between.
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

  /// Claims like `claim`, but fails if the promise was cancelled: the thread that cancels it
  /// rejects it.
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
  /// - Returns: False if `rejection` is nil and the promise was cancelled; the cell is then not
  ///   settled.
  @usableFromInline
  final func settleOperator(_ rejection: Rejection? = nil) -> Bool {
    let seen = lock()
    if rejection == nil {
      if seen & Mark.cancelled != 0 {
        unlock(seen)
        return false
      }
      // The most frequent case: a value, and one observer, which runs in place.
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

  /// Publishes the result of the locked cell and delivers it.
  @inline(__always)
  private final func settle(_ seen: UInt64, _ rejection: Rejection?) {
    var seen = seen
    if Instrumentation.isTracing {
      // Traced before other threads can see it, and without the lock.
      unlock(seen | Mark.claimed)
      Instrumentation.note(self, .settled(rejection))
      seen = lock()
    }
    let observers = list
    let hooks = slot
    list = nil
    slot = rejection.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
    var settled = seen & Mark.marks | Mark.settled
    // Its consumers were removed on purpose.
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
    // Last, because releasing unused hooks can run a `deinit` of user code.
    if let hooks { CancelHooks.discard(hooks) }
  }

  /// Takes the observers that were attached while others were handed over, newest first; nil if
  /// there are none, which ends the state `delivering`.
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
      // An observer that runs in place has no order to preserve, and doesn't wait.
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

  /// Records that the result of this settled cell is passed to a consumer, if it is a rejection.
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
    /// The observer wasn't in the list: the cell has settled, or the observer isn't attached yet or
    /// was already removed.
    case notListed
    /// Other consumers remain.
    case removed
    /// No consumer remains.
    case removedLast
    /// The observer is the only consumer, and stays in the list to receive the cancellation.
    case isOnly
  }

  /// Removes an observer.
  ///
  /// - Parameters:
  ///   - keepsProducer: Whether the removed consumer still needs the producer to continue.
  ///   - unlessOnly: Whether to leave the observer in the list if it is the only consumer.
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

  /// Counts a removed observer, and unlinks removed observers from the list: all of them if there
  /// are many, otherwise those at the front.
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

  /// Records that a consumer that was never in the list needs the producer to continue, and that
  /// its rejection counts as handled.
  final func keep() {
    let seen = lock()
    unlock(seen & Mark.settled == 0 ? seen | Mark.kept | Mark.left : seen)
    if seen & Mark.settled != 0 { rejection?.markHandled() }
  }

  /// The number of consumers in the list, including those that were removed but not yet unlinked.
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

  /// Starts the handler, once, and returns its source, which the caller must release.
  ///
  /// Returns nil if the handler has already started, or if it was detached and must run on its
  /// executor.
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

  /// Replaces the source of a handler that hasn't started with `replacement`, a settled cell.
  ///
  /// - Returns: The previous source, from which the caller must remove the handler; nil if the
  ///   handler has started, was already detached, or has settled.
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

  /// Makes the running handler wait again until it is detached, without adding it to a list; false
  /// if it was cancelled while it ran.
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

  /// What a pending cell is waiting for.
  enum Upstream {
    /// The handler waits for its source, or for its executor; `marks` tells for which results it
    /// needs the executor.
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
    /// The inner cell has settled: pass its result on.
    case settled
  }

  /// Makes this cell, whose handler returned the promise of `inner`, an observer of `inner`.
  ///
  /// This is one step, under both locks: a cell that adopts another one is in its list.
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
    // Its result is passed on in place, even if the handler has an executor.
    inner.unlock((its &+ Mark.living) | Mark.adopted)
    unlock((mine & ~(Mark.started | Mark.wants)) | Mark.adopting)
    return .adopted
  }

  /// Whether a cell that adopts this one has been among its observers.
  final var wasAdopted: Bool { marks & Mark.adopted != 0 }

  /// The cell that this one adopts, while it waits for it.
  final var adoptedSource: Cell? {
    // With the lock: if several threads close a cycle together, the last one must detect it.
    let seen = lock()
    let isWaiting = seen & (Mark.adopting | Mark.started | Mark.detached) == Mark.adopting
    let source = isWaiting ? slot?.takeUnretainedValue() : nil
    unlock(seen)
    return source.map { unsafeDowncast($0, to: Cell.self) }
  }

  /// Whether the cell was adopting another one when it was last read.
  final var wasAdopting: Bool { marks & Mark.adopting != 0 }

  /// The result of an attempt to remove an observer from the middle.
  enum Contraction {
    /// The observer isn't in the middle.
    case notInTheMiddle
    /// The observer is in the middle, but user code or a thread retains it.
    case held(Handler)
    /// The observer was removed, and its own observer is now an observer of this cell.
    case takenOut
  }

  /// Removes the newest observer if it is in the middle and nothing else refers to it.
  ///
  /// An observer is in the middle if it adopts this cell and its only observer adopts it. That
  /// observer takes its place.
  ///
  /// This is one step, under the locks of the three cells. The locks keep the pointers valid;
  /// strong references would change the counts that this method checks.
  final func takeOutObserver() -> Contraction {
    // Without the lock, because most cells aren't adopted; a thread that adopts this one checks
    // again.
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

  /// The only observer of `middle` if `middle`, an observer of this cell, can be in the middle.
  ///
  /// Both cells must be locked.
  private final func onlyAdopter(of middle: Unmanaged<Handler>, _ seen: UInt64)
    -> Unmanaged<Handler>?
  {
    guard seen & Mark.middle == Mark.adopting | Mark.adopted, Mark.livingCount(seen) == 1,
      let outer = middle._withUnsafeGuaranteedRef({ $0.list }),
      outer.toOpaque() != Unmanaged.passUnretained(self).toOpaque()
    else { return nil }
    return outer
  }

  /// Replaces `middle`, an observer of this cell, with its only observer `outer`, if nothing else
  /// refers to `middle`.
  ///
  /// All three cells must be locked.
  ///
  /// - Returns: The result, and removed observers of `middle`. The caller must release these, and
  ///   `middle` if it was removed.
  private final func takeOut(
    _ middle: Unmanaged<Handler>, between outer: Unmanaged<Handler>, _ outerSeen: UInt64
  ) -> (Contraction, unlinked: Unmanaged<Handler>?) {
    let isInTheMiddle =
      outerSeen & Mark.adopter == Mark.adopting
      && outer._withUnsafeGuaranteedRef { $0.slot?.toOpaque() } == middle.toOpaque()
    guard isInTheMiddle else { return (.notInTheMiddle, nil) }
    // The engine holds two references: one in this cell's list, and one in the slot of `outer`.
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

  /// What the caller of `requestCancellation()` must do next.
  enum CancellationStep {
    /// Nothing: the cell has settled, or was already cancelled, or its handler is running and will
    /// find the mark.
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
  /// - Returns: Whether `change` was called, and if not, whether the promise was cancelled.
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
/// `target` is retained manually, so that reading it doesn't change its reference count. `run` and
/// `body` replace one generic closure: `run` is a closure without captures that contains the types,
/// and `body` is the user's closure with its type erased.
///
/// `@unchecked Sendable`: `next` is guarded by the lock of the source, and belongs to the thread
/// that has taken the source's list; `body` belongs to the thread that starts the handler; the rest
/// is immutable.
@usableFromInline
class Handler: Cell, @unchecked Sendable {
  @exclusivity(unchecked) fileprivate final var next = HandlerLink(nil, .unlisted)
  final let target: Unmanaged<AnyObject>?
  @usableFromInline final let run: @Sendable (Handler, Cell) -> Void
  @exclusivity(unchecked) @usableFromInline final var body: ErasedClosure?

  /// `source` and `target` are `__shared`, so that each is retained only once.
  @usableFromInline
  init(
    input: UInt64, source: __shared Cell, target: __shared AnyObject?,
    body: __owned ErasedClosure?, run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.target = target.map { .passRetained($0) }
    // Only a user's closure can read the task-local values.
    if Instrumentation.capturesContext, body != nil {
      self.run = Instrumentation.capturingContext(run)
      self.body = body
      // The functions that restore the context are user code, too.
      super.init(traits: input | Input.programInPlace, source: source)
    } else {
      self.run = run
      self.body = body
      super.init(traits: input, source: source)
    }
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
/// The caller holds the lock of the cell that owns the list, or has taken the list.
enum ObserverList {
  typealias Node = Unmanaged<Handler>

  // Fields are accessed inside the closures, because returning the handler would retain it.

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

  /// Calls `Cell.lock(above:)`.
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
  /// The pointer is rebound to a reference in place, so that the check doesn't retain the observer.
  @inline(__always)
  static func isUniquelyReferenced(_ node: Node) -> Bool {
    var node = node
    return withUnsafeMutablePointer(to: &node) {
      $0.withMemoryRebound(to: Handler.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }

  /// Turns a stack, newest first, into a list, oldest first, and releases its removed observers.
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

  /// Unlinks removed observers from a stack: all of them, or those newer than the newest live one.
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

  /// Whether a shared thread leaves the delivery of a list, which the caller has taken, to the
  /// global queue: because the executor of an observer is user code, or the list is long.
  static func isForElsewhere(_ newest: Node) -> Bool {
    var rest: Node? = newest
    for _ in 0..<SharedThread.slice {
      guard let node = rest else { return false }
      let needsProgram = node._withUnsafeGuaranteedRef { observer in
        guard let target = observer.target, observer.marks & Cell.Mark.queueTarget == 0 else {
          return false
        }
        return target._withUnsafeGuaranteedRef {
          unsafeDowncast($0, to: Scheduler.self).callsProgram
        }
      }
      if needsProgram { return true }
      rest = next(node)
    }
    return rest != nil
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
