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
// - `cancelled` (in addition to any state): no consumer needs the result anymore.
//
// The consumers of a cell are the observers in its list, except for watchers. Removing one takes
// constant time.
//
// The lock is one bit of `word`, held for a constant number of instructions. Only adoption holds two
// locks, and contraction three; they acquire them in the order of the cells' addresses.

/// The state of a cell, in one atomic integer.
private struct Word: OptionSet {
  var rawValue: UInt64

  @inline(__always) init(rawValue: UInt64) { self.rawValue = rawValue }
  @inline(__always) private init(bit: UInt64) { rawValue = 1 << bit }

  // The lock.
  static let locked = Word(bit: 0)

  // Settlement.
  static let settled = Word(bit: 1)
  static let delivering = Word(bit: 2)
  /// A thread is about to settle the cell, after it has traced that; a claim without a trace is the lock.
  static let settling = Word(bit: 3)

  // The handler and its source.
  static let started = Word(bit: 4)
  /// The handler returned a promise and waits for it.
  static let adopting = Word(bit: 5)
  static let detached = Word(bit: 6)
  static let cancelled = Word(bit: 7)

  // The observers.
  static let hasExecutor = Word(bit: 8)
  /// A cell that adopts this one has been among the observers.
  static let adopted = Word(bit: 9)
  /// A consumer was removed on purpose: if none remains, an error counts as handled.
  static let wasLeft = Word(bit: 10)
  /// A consumer was removed that needs the producer to continue.
  static let kept = Word(bit: 11)

  // Set when the cell is created, like the role.
  static let handler = Word(bit: 12)

  /// What the handler is for its source.
  @inline(__always) var role: Role { Role(rawValue: rawValue) }

  /// How the handler reaches its target.
  var targetKind: HandlerTarget.Kind {
    HandlerTarget.Kind(rawValue: rawValue >> 18 & 3).unsafelyUnwrapped
  }
  static func reaching(_ kind: HandlerTarget.Kind) -> Word { Word(rawValue: kind.rawValue << 18) }

  /// What a closure receives.
  static let wants = Word(rawValue: Role.result.rawValue)
  /// A cell waits for one that it adopts if, of these, only `adopting` is set.
  static let adopter: Word = [.adopting, .started, .detached, .cancelled, .settled]
  /// Such a cell can be removed from the middle if only `adopting` and `adopted` are set.
  static let middle: Word = adopter.union([.adopted, .kept])

  /// The unit of the number of consumers: of those in the list or, after settlement, of those to
  /// which a rejection was passed.
  private static let consumer: UInt64 = 1 << 24

  @inline(__always) var consumers: UInt64 { rawValue >> 24 }
  @inline(__always) var addingConsumer: Word { Word(rawValue: rawValue &+ Self.consumer) }
  @inline(__always) var removingConsumer: Word { Word(rawValue: rawValue &- Self.consumer) }

  /// Whether one of these flags is set.
  @inline(__always) func has(_ flags: Word) -> Bool { rawValue & flags.rawValue != 0 }
  /// Whether, of `flags`, exactly those in `expected` are set.
  @inline(__always) func has(only expected: Word, of flags: Word) -> Bool {
    rawValue & flags.rawValue == expected.rawValue
  }
  @inline(__always) func with(_ flags: Word) -> Word { Word(rawValue: rawValue | flags.rawValue) }
  @inline(__always) func without(_ flags: Word) -> Word {
    Word(rawValue: rawValue & ~flags.rawValue)
  }
  /// Whether the producer isn't needed anymore when one consumer is removed.
  var hasOneConsumer: Bool { consumers == 1 && !has(.kept) }
}

/// What a handler is for its source, and which results its closure receives, rather than passing them
/// on.
///
/// The bits are those of the word.
@usableFromInline
struct Role: OptionSet, Sendable {
  @usableFromInline let rawValue: UInt64

  @usableFromInline @inline(__always) init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Its closure receives the value.
  @usableFromInline static var value: Role { Role(rawValue: 1 << 13) }
  /// Its closure receives the error.
  @usableFromInline static var error: Role { Role(rawValue: 1 << 14) }
  /// It is called for an abandoned source, too.
  static var abandonment: Role { Role(rawValue: 1 << 15) }
  /// Cancellation stops here and doesn't reach the source.
  @usableFromInline static var uncancellable: Role { Role(rawValue: 1 << 16) }
  /// It isn't a consumer.
  static var watching: Role { Role(rawValue: 1 << 17) }
  /// Its closure is the library's and calls none of the user's, and so doesn't need the context.
  @usableFromInline static var contextFree: Role { Role(rawValue: 1 << 20) }
  /// Its closure receives a cancellation, as a drop-in module defines it, in place.
  private static var sparingCancellation: Role { Role(rawValue: 1 << 21) }

  @usableFromInline static var errorSparingCancellation: Role { [.error, .sparingCancellation] }
  @usableFromInline static var result: Role { [.value, .error] }
  /// Its closure receives the result, and is called even if the source is abandoned.
  @usableFromInline static var end: Role { [.result, .abandonment] }
  /// It passes the result on, without a closure.
  @usableFromInline static var copy: Role { [] }
  /// It observes every end of the source for the library, without a closure.
  @usableFromInline static var observer: Role { .abandonment }
  /// It waits for a cleanup.
  @usableFromInline static var cleanup: Role { [.uncancellable, .abandonment] }
  @usableFromInline static var watcher: Role { [.result, .watching] }
  static var watchingObserver: Role { [.observer, .watching] }

  /// Whether one of these flags is set.
  @inline(__always) func has(_ flags: Role) -> Bool { rawValue & flags.rawValue != 0 }

  /// Whether a closure receives, on its target, a value or, if there is one, this rejection.
  @inline(__always)
  func receives(_ rejection: Rejection?) -> Bool {
    guard let rejection else { return has(.value) }
    if rejection.isCancellation, has(.sparingCancellation) { return false }
    return has(rejection.isAbandonment ? .abandonment : .error)
  }

  /// Whether it calls a user's closure.
  var callsClosure: Bool { has(.result) && !has(.abandonment) }
}

/// The part of a promise that doesn't depend on the type of its value.
///
/// `@unchecked Sendable`: `word` is atomic; `list` and `slot` are guarded by its lock bit, and
/// immutable once the cell is settled; the value in a subclass is written by the one thread that
/// settles the cell, before the settled state is published.
@usableFromInline
class Cell: Job, @unchecked Sendable {
  private final let word: AtomicWord
  /// The newest observer, retained.
  @exclusivity(unchecked) fileprivate final var list: Observer?
  /// The source, the cancel hooks, or the rejection, retained.
  @exclusivity(unchecked) fileprivate final var slot: Unmanaged<AnyObject>?

  /// Creates a pending cell that a resolver settles.
  @usableFromInline
  override init() {
    word = AtomicWord(0)
    super.init()
  }

  /// Creates a settled cell.
  @usableFromInline
  init(settled rejection: Rejection?) {
    word = AtomicWord(Word.settled.with(.started).rawValue)
    super.init()
    slot = rejection.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
  }

  /// Creates a cell whose handler waits for `source`.
  @inline(__always)
  init(_ role: Role, _ kind: HandlerTarget.Kind, source: __shared Cell) {
    word = AtomicWord(Word(rawValue: role.rawValue).with(.handler).with(.reaching(kind)).rawValue)
    super.init()
    slot = .fromOpaque(Unmanaged.passRetained(source).toOpaque())
  }

  deinit {
    // There are no observers, because they retain their source.
    slot?.release()
    // Afterwards, so that a tool that finds no promise left has received the report of its error.
    Instrumentation.note(self, .released)
  }

  // MARK: - The lock

  @inline(__always)
  fileprivate final func read() -> Word { Word(rawValue: word.load(ordering: .acquiring)) }

  /// Locks the cell and returns the word without the lock bit.
  @inline(__always)
  private final func lock() -> Word { lock(Word(rawValue: word.load(ordering: .relaxed))) }

  /// Locks the cell; `seen` is a recently read word.
  @inline(__always)
  private final func lock(_ seen: Word) -> Word { tryLock(seen) ?? lockSlowly() }

  @inline(never)
  private final func lockSlowly() -> Word {
    var backoff = Backoff()
    while true {
      let seen = Word(rawValue: word.load(ordering: .relaxed))
      if seen.has(.locked) {
        backoff.wait()
      } else if let now = tryLock(seen) {
        return now
      }
    }
  }

  /// Locks the cell if it is unlocked; `seen` is a recently read word.
  @inline(__always)
  private final func tryLock(_ seen: Word) -> Word? {
    guard !seen.has(.locked) else { return nil }
    let (done, now) = word.compareExchange(
      expected: seen.rawValue, desired: seen.with(.locked).rawValue, ordering: .acquiring)
    return done ? Word(rawValue: now) : nil
  }

  /// Locks the cell in addition to other locked cells, the highest of which has the address
  /// `highest`.
  ///
  /// Threads wait for locks only in the order of addresses. Returns nil if this thread would have
  /// to wait out of order: it must unlock the others and start over.
  fileprivate final func lock(above highest: UInt) -> Word? {
    if address > highest { return lock() }
    // Not `tryLock`, which can read an outdated word: a thread that retries must see that the lock
    // is free.
    let seen = Word(rawValue: word.bitwiseOr(Word.locked.rawValue, ordering: .acquiring))
    return seen.has(.locked) ? nil : seen
  }

  @inline(__always)
  private final var address: UInt {
    UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
  }

  /// Unlocks the cell and stores `next` as its word.
  @inline(__always)
  fileprivate final func unlock(_ next: Word) { word.unlock(storing: next.rawValue) }

  // MARK: - Reading

  /// Whether the result can be read.
  @usableFromInline
  final var isSettled: Bool { read().has(.settled) }

  /// Whether it was created fulfilled, which no trace event reports.
  final var wasCreatedFulfilled: Bool {
    read().has(only: .started, of: [.started, .handler]) && slot == nil
  }

  /// Whether the value is that of a handler, not of a resolver; nil if there is no value.
  @usableFromInline
  final var hasHandlerValue: Bool? {
    let seen = read()
    return seen.has(.settled) && slot == nil ? seen.has(.handler) : nil
  }

  /// Whether a closure for `target` can be called immediately, in place, with this cell's value:
  /// every observer has been handed over.
  ///
  /// This is false for a rejection, because a rejected cell counts its consumers.
  @usableFromInline
  final func isReady(for target: HandlerTarget) -> Bool {
    target.object == nil && read().has(only: .settled, of: [.settled, .delivering]) && slot == nil
  }

  @usableFromInline
  final var isHandler: Bool { Word(rawValue: word.load(ordering: .relaxed)).has(.handler) }

  /// The rejection of this cell, which must be settled; nil if it was fulfilled.
  @usableFromInline
  final var rejection: Rejection? {
    guard let slot else { return nil }
    return unsafeDowncast(slot.takeUnretainedValue(), to: Rejection.self)
  }

  /// Whether this cell, which must be settled, was rejected.
  final var isRejected: Bool { slot != nil }

  /// Whether this settled cell's rejection was passed to several consumers.
  final var hadManyConsumers: Bool { read().consumers > 1 }

  /// Whether cancellation of this promise was requested.
  @usableFromInline
  final var isCancelled: Bool { read().has(.cancelled) }

  /// The number of consumers.
  final var consumerCount: Int { Int(read().consumers) }

  // MARK: - Settling

  /// Claims the right to settle a resolver's cell; false if it is already claimed or settled, or,
  /// `unlessCancelled`, a thread that cancels it is about to reject it.
  ///
  /// If this returns true, the cell is locked: the caller must write the value and call `publish`
  /// without running user code in between.
  @usableFromInline
  final func claim(unlessCancelled: Bool = false) -> Bool {
    if word.load(ordering: .relaxed) & Word.settled.rawValue != 0 { return false }
    let seen = lock()
    if seen.has([.settled, .settling]) || (unlessCancelled && seen.has(.cancelled)) {
      unlock(seen)
      return false
    }
    return true
  }

  /// Settles the claimed cell.
  @usableFromInline
  final func publish(_ rejection: Rejection? = nil) {
    let seen = Word(rawValue: word.load(ordering: .relaxed)).without(.locked)
    settle(seen, rejection, ThreadState.current)
  }

  /// Settles the cell of a handler whose closure has returned on this thread.
  ///
  /// - Returns: False if `rejection` is nil and the promise was cancelled; the cell is then not
  ///   settled.
  @usableFromInline
  final func settleOperator(_ rejection: Rejection? = nil) -> Bool {
    let seen = lock()
    if rejection == nil, seen.has(.cancelled) {
      unlock(seen)
      return false
    }
    let state = ThreadState.current
    state.pointee.closuresOnStack &-= 1
    // The most frequent case: a value, and one observer, which runs in place.
    if rejection == nil, !seen.has(.hasExecutor), !Instrumentation.isTracing, let only = list,
      only.next == nil
    {
      list = nil
      unlock(seen.with(.settled))
      Delivery.perform(only, state)
    } else {
      settle(seen, rejection, state)
    }
    state.pointee.closuresOnStack &+= 1
    return true
  }

  /// Publishes the result of the locked cell and delivers it.
  @inline(__always)
  private final func settle(
    _ seen: Word, _ rejection: Rejection?,
    _ state: @autoclosure () -> UnsafeMutablePointer<ThreadState>
  ) {
    var seen = seen
    if Instrumentation.isTracing {
      // Traced before other threads can see it, and without the lock.
      unlock(seen.with(.settling))
      Instrumentation.note(self, .settled(rejection))
      seen = lock()
    }
    let observers = list
    let hooks = slot
    list = nil
    slot = rejection.map { .fromOpaque(Unmanaged.passRetained($0).toOpaque()) }
    let settled = seen.with(.settled)
    // If there are no consumers because they were removed on purpose.
    if seen.has(.wasLeft), seen.consumers == 0 { rejection?.markHandled() }
    if let observers {
      let mustKeepOrder = seen.has(.hasExecutor)
      unlock(mustKeepOrder ? settled.with(.delivering) : settled)
      Delivery.deliver(observers, of: self, rejection, inOrder: mustKeepOrder, state())
    } else {
      unlock(settled)
    }
    // Last, because releasing unused hooks can run a `deinit` of user code.
    if let hooks { CancelHooks.discard(hooks) }
  }

  /// Takes the observers that were attached while others were handed over, newest first; nil if
  /// there are none, which ends the state `delivering`.
  @inline(__always)
  final func takeLateObservers() -> Observer? {
    let seen = lock()
    let late = list
    list = nil
    unlock(late == nil ? seen.without(.delivering) : seen)
    return late
  }

  // MARK: - Observers

  /// Adds an observer; false if the result already exists and must be delivered to it.
  @inline(__always)
  final func add(_ observer: Handler) -> Bool {
    let isConsumer = !observer.role.has(.watching)
    var seen = read()
    if seen.has(only: .settled, of: [.settled, .delivering]) {
      if isConsumer, slot != nil { noteConsumerOfRejection() }
      return false
    }
    seen = lock(seen)
    if isConsumer { seen = seen.addingConsumer }
    // An observer that runs in place has no order to preserve, and doesn't wait.
    if seen.has(.settled), !seen.has(.delivering) || observer.target == nil {
      unlock(seen)
      return false
    }
    push(.passRetained(observer))
    unlock(observer.target == nil ? seen : seen.with(.hasExecutor))
    return true
  }

  @inline(__always)
  private final func push(_ observer: Observer) {
    observer.link(before: list)
    list = observer
  }

  /// Records that this settled cell's rejection is passed to a consumer.
  @usableFromInline @inline(never)
  final func noteConsumerOfRejection() {
    let seen = lock()
    unlock(seen.addingConsumer)
  }

  /// Removes an observer, and marks the cell as cancelled if no consumer remains.
  ///
  /// - Parameter keepsProducer: Whether the removed consumer still needs the producer to continue.
  /// - Returns: Nil if the observer wasn't in the list: the cell has settled, or the observer isn't
  ///   attached yet or was already removed.
  final func remove(_ observer: Handler, keepsProducer: Bool) -> CancellationStep? {
    let node = Unmanaged.passUnretained(observer)
    let seen = lock()
    guard hasListed(node, seen) else {
      unlock(seen)
      return nil
    }
    list = node.unlink(from: list)
    defer { node.release() }
    let next = seen.removingConsumer.with(.wasLeft)
    // A consumer that is added after this step finds the cell cancelled; one that was added before
    // prevents it.
    if !keepsProducer, seen.hasOneConsumer { return cancel(next) }
    unlock(keepsProducer ? next.with(.kept) : next)
    return .done
  }

  /// Marks the cell as cancelled if `observer` is its only consumer, which stays in the list to
  /// receive the cancellation; nil if it isn't.
  final func cancel(ifOnly observer: Handler) -> CancellationStep? {
    // First without the lock, which `remove` takes next.
    if !read().hasOneConsumer { return nil }
    let seen = lock()
    if seen.hasOneConsumer, hasListed(.passUnretained(observer), seen) { return cancel(seen) }
    unlock(seen)
    return nil
  }

  /// Whether `node` is in the list of this locked cell.
  private final func hasListed(_ node: Observer, _ seen: Word) -> Bool {
    !seen.has(.settled) && node.isListed(in: list)
  }

  /// Records that the producer must continue without consumers and, if `handlesErrors`, that an error
  /// counts as handled.
  @usableFromInline
  final func keep(handlesErrors: Bool = true) {
    let seen = lock()
    unlock(seen.with(handlesErrors ? [.kept, .wasLeft] : .kept))
  }

  /// Marks this settled cell's rejection as handled if it was passed to only one consumer, which
  /// doesn't receive it.
  final func forgoRejection() {
    let seen = read()
    if seen.has(.settled), seen.consumers <= 1 { rejection?.markHandled() }
  }

  /// Marks the cell as cancelled if it has no consumer, in which case an error counts as handled; nil
  /// if it isn't marked.
  final func cancelIfUnconsumed() -> CancellationStep? {
    let seen = lock()
    let isUnconsumed = seen.consumers == 0
    if isUnconsumed, !seen.has([.settled, .kept]) { return cancel(seen.with(.wasLeft)) }
    unlock(isUnconsumed ? seen.with(.wasLeft) : seen)
    if isUnconsumed, seen.has(.settled) { rejection?.markHandled() }
    return nil
  }

  // MARK: - The handler

  /// Starts the handler, once, and returns its source, which the caller must release.
  ///
  /// Returns nil if the handler has already started, or if it was detached and must run on its
  /// executor.
  @inline(__always)
  final func start(isInPlace: Bool) -> Unmanaged<Cell>? {
    let seen = lock()
    if seen.has(.started) || (seen.has(.detached) && isInPlace && isForTarget(seen)) {
      unlock(seen)
      return nil
    }
    let source = slot
    slot = nil
    unlock(seen.with(.started))
    return source.map { .fromOpaque($0.toOpaque()) }
  }

  /// Whether this locked, detached handler must run on its target, with the error of the replacement.
  private final func isForTarget(_ seen: Word) -> Bool {
    let replacement = unsafeDowncast(slot.unsafelyUnwrapped.takeUnretainedValue(), to: Cell.self)
    return seen.targetKind != .inPlace && seen.role.receives(replacement.rejection)
  }

  /// Replaces the source of a handler that hasn't started with `replacement`, a settled cell.
  ///
  /// - Returns: The previous source, from which the caller must remove the handler; nil if the
  ///   handler has started, was already detached, or has settled.
  final func detach(finding replacement: Cell, isCancellation: Bool) -> Cell? {
    let seen = lock()
    if seen.has([.started, .detached, .settled]) {
      unlock(seen)
      return nil
    }
    let source = slot
    slot = .fromOpaque(Unmanaged.passRetained(replacement).toOpaque())
    unlock(seen.with(isCancellation ? [.detached, .cancelled] : .detached))
    return source.map { unsafeDowncast($0.takeRetainedValue(), to: Cell.self) }
  }

  /// What will settle this cell, if that is known; nil if it has settled, or its handler runs.
  final var producer: Producer? {
    let seen = lock()
    defer { unlock(seen) }
    guard !seen.has([.settled, .started]), let object = slot?.takeUnretainedValue() else {
      return nil
    }
    return seen.has(.handler)
      ? .source(unsafeDowncast(object, to: Cell.self), callsClosure: seen.has(.wants))
      : unsafeDowncast(object, to: CancelHooks.self).producer
  }

  // MARK: - Adoption

  /// Makes this cell, whose handler returned the promise of `inner`, an observer of `inner`.
  ///
  /// This is one step, under both locks: a cell that adopts another one is in its list.
  ///
  /// - Returns: False if `inner` has settled, or this cell was cancelled while its closure ran.
  final func adoptPending(_ inner: Cell) -> Bool {
    if inner.isSettled { return false }
    let isFirst = address < inner.address
    let first = (isFirst ? self : inner).lock()
    let second = (isFirst ? inner : self).lock()
    let (mine, its) = isFirst ? (first, second) : (second, first)
    if mine.has(.cancelled) || its.has(.settled) {
      inner.unlock(its)
      unlock(mine)
      return false
    }
    slot = .fromOpaque(Unmanaged.passRetained(inner).toOpaque())
    inner.push(.passRetained(unsafeDowncast(self, to: Handler.self)))
    // Its result is passed on in place, even if the handler has an executor.
    inner.unlock(its.addingConsumer.with(.adopted))
    unlock(mine.without([.started, .wants]).with(.adopting))
    return true
  }

  /// Whether a cell that adopts this one has been among its observers.
  final var wasAdopted: Bool { read().has(.adopted) }

  /// The cell that this one adopts, while it waits for it.
  final var adoptedSource: Cell? {
    // With the lock: if several threads close a cycle together, the last one must detect it.
    let seen = lock()
    let isWaiting = seen.has(only: .adopting, of: [.adopting, .started, .detached])
    let source = isWaiting ? slot?.takeUnretainedValue() : nil
    unlock(seen)
    return source.map { unsafeDowncast($0, to: Cell.self) }
  }

  /// Whether the cell was adopting another one when it was last read.
  final var wasAdopting: Bool { read().has(.adopting) }

  /// The result of an attempt to remove an observer from the middle.
  enum Contraction {
    /// The observer isn't in the middle.
    case notInTheMiddle
    /// The observer is in the middle, but user code or a thread retains it.
    case held(Handler)
    /// The observer was removed, and its own observer is now an observer of this cell.
    case takenOut(Observer)
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
    if !read().has(only: .adopted, of: [.adopted, .settled]) { return .notInTheMiddle }
    var backoff = Backoff()
    while true {
      let seen = lock()
      let contraction = seen.has(.settled) ? .notInTheMiddle : takeOutNewest()
      unlock(seen)
      if case .takenOut(let middle)? = contraction { middle.release() }
      if let contraction { return contraction }
      backoff.wait()
    }
  }

  /// Tries to do what `takeOutObserver()` does for this locked cell; the caller must release the
  /// removed observer, or, if the result is nil, start over, to acquire the locks in their order.
  private final func takeOutNewest() -> Contraction? {
    guard let middle = list else { return .notInTheMiddle }
    guard let middleSeen = middle.lock(above: address) else { return nil }
    defer { middle.unlock(middleSeen) }
    guard middleSeen.has(only: [.adopting, .adopted], of: .middle), middleSeen.consumers == 1,
      let outer = middle._withUnsafeGuaranteedRef({ $0.list }), outer.next == nil,
      outer.toOpaque() != Unmanaged.passUnretained(self).toOpaque()
    else { return .notInTheMiddle }
    guard let outerSeen = outer.lock(above: max(address, UInt(bitPattern: middle.toOpaque())))
    else { return nil }
    defer { outer.unlock(outerSeen) }
    guard outerSeen.has(only: .adopting, of: .adopter),
      outer._withUnsafeGuaranteedRef({ $0.slot })?.toOpaque() == middle.toOpaque()
    else { return .notInTheMiddle }
    // The engine holds two references: one in this cell's list, and one in the slot of `outer`.
    middle.release()
    guard middle.isUniquelyReferenced else {
      return .held(middle.retain().takeUnretainedValue())
    }
    // References move with the pointers.
    outer.link(before: middle.unlink(from: middle))
    list = outer
    middle._withUnsafeGuaranteedRef { middle in
      outer._withUnsafeGuaranteedRef { $0.slot = middle.slot }
      middle.slot = nil
      middle.list = nil
    }
    return .takenOut(middle)
  }

  // MARK: - Cancellation

  /// What the caller of `requestCancellation()` must do next.
  enum CancellationStep {
    /// Nothing: the cell has settled, or its producer was already notified, or its handler is
    /// running and will find the mark.
    case done
    /// Notify the producer, then reject the cell.
    case producer(CancelHooks?)
    /// Stop consuming this cell, unless another request, which has marked the consumer, does it.
    case source(Cell, wasMarked: Bool)
  }

  /// Marks the cell as cancelled.
  final func requestCancellation() -> CancellationStep { cancel(lock()) }

  /// Marks the locked cell as cancelled, and unlocks it.
  private final func cancel(_ seen: Word) -> CancellationStep {
    if seen.has(seen.has(.handler) ? [.settled, .settling] : [.settled, .settling, .cancelled]) {
      unlock(seen)
      return .done
    }
    if !seen.has(.handler) {
      let hooks = slot
      slot = nil
      unlock(seen.with(.cancelled))
      return .producer(hooks.map { unsafeDowncast($0.takeRetainedValue(), to: CancelHooks.self) })
    }
    let source = seen.has(.started) ? nil : slot?.takeUnretainedValue()
    unlock(seen.with(.cancelled))
    guard let source else { return .done }
    return .source(unsafeDowncast(source, to: Cell.self), wasMarked: seen.has(.cancelled))
  }

  /// Passes the cancel hooks of a resolver's cell to `change`, unless they are no longer needed.
  ///
  /// - Returns: Whether `change` was called, and if not, whether the promise was cancelled.
  final func withCancelHooks(_ change: (CancelHooks) -> Void) -> (added: Bool, isCancelled: Bool) {
    let fresh = CancelHooks()
    let seen = lock()
    if seen.has([.settled, .settling, .cancelled]) {
      unlock(seen)
      return (false, seen.has(.cancelled))
    }
    if slot == nil { slot = .fromOpaque(Unmanaged.passRetained(fresh).toOpaque()) }
    change(unsafeDowncast(slot.unsafelyUnwrapped.takeUnretainedValue(), to: CancelHooks.self))
    unlock(seen)
    return (true, false)
  }
}

// Access without references, which would change the counts that contraction checks.
extension Observer {
  @inline(__always)
  fileprivate func lock(above highest: UInt) -> Word? {
    _withUnsafeGuaranteedRef { $0.lock(above: highest) }
  }

  @inline(__always)
  fileprivate func unlock(_ next: Word) { _withUnsafeGuaranteedRef { $0.unlock(next) } }
}

extension Handler {
  /// What the handler is for its source.
  @inline(__always)
  final var role: Role { read().role }

  /// How the handler reaches its target.
  @inline(__always)
  final var targetKind: HandlerTarget.Kind { read().targetKind }
}
