/// The request for one key: the part that depends neither on the type of the key nor on that of the
/// value, because generic code looks up the metadata of its types at each step.
///
/// Its callers are the consumers of its cell, and its *lead*: the task that requested the key first
/// and waits without a promise. When all have cancelled, the work is cancelled. An entry that a task
/// has started gets a cell when another caller joins, or when its value is cached.
///
/// `@unchecked Sendable`: immutable except for atomics and what the mutex guards.
@usableFromInline
class CoalescerEntry: TableEntry, @unchecked Sendable {
  @usableFromInline typealias Continuation = UnsafeContinuation<Void, any Error>

  private enum Lead {
    /// The callers are the consumers of the cell.
    case none
    /// It is about to wait.
    case starting
    case waiting(Continuation)
    case left
  }

  private enum TaskState {
    case none
    case started(Task<Void, Never>)
    case cancelled
  }

  private struct State {
    var cell: Cell?
    var lead: Lead
    var task = TaskState.none
    var hasEnded = false
    /// The entry of the work that replaces its stale value, unless that has failed.
    var refresh: CoalescerEntry?

    var hasLead: Bool {
      switch lead {
      case .starting, .waiting: true
      case .none, .left: false
      }
    }
  }

  /// Its work, if it starts any.
  @usableFromInline final let work = CoalescedWork()
  private final let arrivalBits = AtomicWord(UInt64.max)
  private final let state: Mutex<State>

  /// Creates an entry whose callers are the consumers of `cell`, or one with a lead.
  @usableFromInline
  init(hash: Int, _ cell: Cell?) {
    state = Mutex(State(cell: cell, lead: cell == nil ? .starting : .none))
    super.init(hash: hash)
  }

  /// The cell of an entry without a lead.
  @usableFromInline
  final var cell: Cell { cellIfAny.unsafelyUnwrapped }

  private final var cellIfAny: Cell? { state.withLock { $0.cell } }

  /// Whether the caller is a part of the work, which would wait for itself: it runs in its task, or in
  /// a handler on which it depends.
  @usableFromInline
  final var isWorkCurrent: Bool {
    if work.isCurrent { return true }
    let state = ThreadState.current
    guard state.pointee.running != nil, let cell = cellIfAny else { return false }
    return cell.dependsOnRunningHandler(state) { _ in false }
  }

  /// Whether all callers have cancelled.
  final var isCancelled: Bool {
    state.withLock { $0.hasEnded || $0.hasLead ? false : $0.cell?.isCancelled ?? true }
  }

  /// Whether no caller can join.
  final var mustBeReplaced: Bool {
    state.withLock { state in
      if state.hasLead, !state.hasEnded { return false }
      guard let cell = state.cell else { return true }
      return cell.isCancelled && (!cell.isSettled || cell.isRejected)
    }
  }

  /// Returns the cell for another caller, which is `make()` if there is none; nil if all callers have
  /// cancelled, or if the work of a lead has ended without another caller.
  final func cellForJoining(_ make: () -> Cell) -> Cell? {
    let (cell, replaced) = state.withLock { state -> (Cell?, Cell?) in
      if let cell = state.cell, !cell.isCancelled || cell.isSettled { return (cell, nil) }
      guard !state.hasEnded, state.hasLead else { return (nil, nil) }
      let fresh = make()
      return (fresh, exchange(&state.cell, with: fresh))
    }
    withExtendedLifetime(replaced) {}
    return cell
  }

  /// Records that all consumers of `cell` have cancelled; returns whether no caller remains.
  final func noteCancellation(of cell: Cell) -> Bool {
    state.withLock { state in
      guard state.cell === cell else { return false }
      if !state.hasLead { return true }
      // The next caller that joins gets another cell.
      state.cell = nil
      return false
    }
  }

  // MARK: The lead

  /// Whether the work has ended, for a lead that hasn't left before.
  @usableFromInline
  final var hasResult: Bool {
    state.withLock { state in
      if case .none = state.lead { state.hasEnded } else { false }
    }
  }

  /// Stores the lead's continuation, unless the lead has cancelled or the work has ended.
  @usableFromInline
  final func wait(_ continuation: Continuation) -> Bool {
    state.withLock { state in
      guard case .starting = state.lead else { return false }
      state.lead = .waiting(continuation)
      return true
    }
  }

  /// Removes the lead, and returns its continuation, if it waits, and whether no caller remains.
  final func leave() -> (Continuation?, isLast: Bool) {
    state.withLock { state in
      guard !state.hasEnded else { return (nil, false) }
      let isLast = state.hasLead && state.cell?.isCancelled ?? true
      if case .waiting(let continuation) = exchange(&state.lead, with: .left) {
        return (continuation, isLast)
      }
      return (nil, isLast)
    }
  }

  /// Ends the work, and returns the lead's continuation and the cell of the other callers, which
  /// the caller must settle.
  ///
  /// From now on, the entry's cell is `result`, which has settled, if its value is cached.
  @usableFromInline
  final func end(with result: Cell?) -> (Continuation?, Cell?) {
    state.withLock { state in
      state.hasEnded = true
      state.task = .none
      let cell = exchange(&state.cell, with: result)
      switch state.lead {
      case .waiting(let continuation):
        state.lead = .none
        return (continuation, cell)
      case .starting: state.lead = .none
      case .none, .left: break
      }
      return (nil, cell)
    }
  }

  // MARK: The task

  /// Stores the current task as the one that does the work, for `takeTask()`; returns false if no
  /// caller needs the work anymore, which then doesn't start.
  @usableFromInline
  final func noteTask() -> Bool {
    let task = Task.current
    return state.withLock { state in
      if case .cancelled = state.task { return false }
      state.task = .started(task)
      return true
    }
  }

  /// Returns the task to cancel, if it has started.
  final func takeTask() -> Task<Void, Never>? {
    let old = state.withLock { exchange(&$0.task, with: .cancelled) }
    if case .started(let task) = old { return task }
    return nil
  }

  /// The age of the store when the value arrived, in nanoseconds; nil until then.
  final var arrival: Int64? {
    get {
      let bits = arrivalBits.load(ordering: .acquiring)
      return bits == .max ? nil : Int64(bitPattern: bits)
    }
    set { arrivalBits.store(newValue.map { UInt64(bitPattern: $0) } ?? .max, ordering: .releasing) }
  }

  /// The entry of the work that replaces the value, unless it has failed.
  final var refresh: CoalescerEntry? { state.withLock { $0.refresh } }

  /// Returns the entry, which `make` returns, of the work that the caller must start to replace the
  /// value; nil if such work is in progress.
  @usableFromInline
  final func beginRefresh(_ make: () -> CoalescerEntry) -> CoalescerEntry? {
    state.withLock { state in
      guard state.refresh == nil else { return nil }
      state.refresh = make()
      return state.refresh
    }
  }

  /// Records that the work that replaces the value has failed.
  final func endRefresh() {
    let refresh = state.withLock { exchange(&$0.refresh, with: nil) }
    withExtendedLifetime(refresh) {}
  }

  /// Whether its value has been in the store for `total` nanoseconds and isn't being replaced.
  final func hasExpired(at now: Int64, after total: Int64) -> Bool {
    guard let arrival else { return false }
    return now - arrival >= total && refresh == nil
  }
}

/// The request for one key.
///
/// `@unchecked Sendable`: `key` is accessed only by the coalescer, which is sendable only if its keys
/// are; but any thread can release it. `value` and `error` are written before the work ends, and read
/// after that. `Storage` is `Value?`, as in `Root`.
@_fixed_layout @usableFromInline
final class KeyedEntry<Key, Storage>: CoalescerEntry, @unchecked Sendable {
  @usableFromInline let key: Key
  // The result of the work, for the lead.
  @exclusivity(unchecked) @usableFromInline var value: Storage
  @exclusivity(unchecked) @usableFromInline var error: (any Error)?

  @inlinable
  init<Value>(key: Key, hash: Int, _ cell: Cell?) where Storage == Value? {
    self.key = key
    value = nil
    super.init(hash: hash, cell)
  }
}
