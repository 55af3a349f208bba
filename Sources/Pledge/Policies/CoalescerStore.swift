/// The work of a coalescer, apart from what depends on the types of keys and values.
///
/// Generic code looks up the metadata of its types at each step, so that part is thin, and is
/// specialized where a coalescer is used.
@usableFromInline
final class CoalescerStore: Sendable {
  @usableFromInline typealias Entry = CoalescerEntry

  let table = Mutex(KeyTable<CoalescerEntry>())
  let monitors = Monitors<CoalescerEvent>()
  private let caching: CoalescerCaching?
  /// Returns the time since the store was created.
  private let stopwatch: @Sendable () -> TimeSpan

  init(caching: CoalescerCaching?, _ time: TimeSource) {
    self.caching = caching
    stopwatch = time.stopwatch()
  }

  /// Returns the number of nanoseconds since the store was created.
  private func age() -> Int64 { stopwatch().inNanoseconds }

  private func isUsable(_ entry: Entry) -> Bool {
    guard let arrival = entry.arrival else { return !entry.isCancelled }
    guard let total = caching?.total else { return true }
    return age() - arrival < total
  }

  private func isStale(_ entry: Entry) -> Bool {
    guard let lifetime = caching?.fresh, let arrival = entry.arrival else { return false }
    return age() - arrival >= lifetime.inNanoseconds
  }

  // MARK: Callers

  /// How a request for a key is served.
  @usableFromInline
  enum Role {
    /// The caller starts the work.
    case starting
    /// The caller receives a stale value, and starts work that replaces it.
    case refreshing
    /// The work is in progress, or has ended.
    case joining
  }

  /// Returns how a request is served, and by which entry; `cell` becomes the cell of the caller's
  /// own promise, unless the caller is the lead of the entry.
  ///
  /// - Parameters:
  ///   - isWanted: Compares the key of an entry, which runs without the lock.
  ///   - share: Returns a cell that is another consumer of the given one.
  ///   - cell: Returns a new cell.
  ///   - make: Returns a new entry.
  @usableFromInline
  func request(
    hash: Int, _ isWanted: (Entry) -> Bool, share: (Cell) -> Cell, newCell: () -> Cell,
    make: () -> (Entry, Cell?), _ cell: inout Cell?
  ) -> (Role, Entry) {
    // A new entry, and the cell of this caller, which is a consumer before others can join and
    // cancel.
    var fresh: (entry: Entry, cell: Cell?)?
    while true {
      let bucket = table.withLock { $0.bucket(hash) }
      let found = bucket?.first(where: isWanted)
      if let found, isUsable(found) {
        cell = join(found, share, newCell)
        if cell != nil {
          // Ends the cycle of the entry's cell and its consumer.
          if fresh?.cell != nil { fresh?.entry.cell.abandon() }
          return (role(joining: found), found)
        }
        // All callers cancelled, or the work ended, before this one joined.
        if found.mustBeReplaced { remove(found) }
        continue
      }
      // The value has expired while work that replaces it is in progress.
      if let found, table.withLock({ $0.insertRefresh(of: found, in: bucket) }) { continue }
      let new = fresh ?? make()
      fresh = new
      if insert(new.entry, replacing: found, in: bucket) {
        monitors.note(.started)
        cell = new.cell
        return (.starting, new.entry)
      }
      // A request with the same hash was faster.
    }
  }

  /// Returns a cell for another caller; nil if the work was cancelled.
  ///
  /// When all consumers of an entry's cell have cancelled, the cell is cancelled, and with it the
  /// work, unless it has a lead; a caller that is a consumer by then prevents that.
  private func join(_ entry: Entry, _ share: (Cell) -> Cell, _ newCell: () -> Cell) -> Cell? {
    if caching?.capacity != nil { _ = table.withLock { $0.noteUse(of: entry) } }
    let joined = entry.cellForJoining {
      let cell = newCell()
      prepare(entry, cell)
      return cell
    }
    guard let joined else { return nil }
    if joined.isSettled {
      // Its callers cancelled before this one joined.
      return joined.isCancelled && joined.isRejected ? nil : joined
    }
    let cell = share(joined)
    return joined.isCancelled ? nil : cell
  }

  private func role(joining entry: Entry) -> Role {
    if isStale(entry) {
      monitors.note(.stale)
      return .refreshing
    }
    monitors.note(entry.arrival == nil ? .joined : .cached)
    return .joining
  }

  // MARK: Entries

  /// Replaces `old`, if any, with `fresh`, unless the entries with its hash aren't those of
  /// `bucket` anymore.
  private func insert(
    _ fresh: Entry, replacing old: Entry?, in bucket: TableBucket<Entry>?
  ) -> Bool {
    let inserted = table.withLock { $0.insert(fresh, replacing: old, in: bucket) }
    if inserted { removeExpiredValues() }
    return inserted
  }

  /// Removes the values that have expired if the number of entries has doubled since the last time.
  ///
  /// This takes amortized constant time per insertion.
  private func removeExpiredValues() {
    guard let total = caching?.total else { return }
    let entries = table.withLock { $0.entriesToSweep() }
    if entries.isEmpty { return }
    // The clock is user code.
    let now = age()
    let expired = entries.filter { $0.hasExpired(at: now, after: total) }
    let removed = table.withLock { table in
      defer { table.noteSweep() }
      return expired.compactMap { table.remove($0) }
    }
    withExtendedLifetime((entries, removed)) {}
  }

  @usableFromInline
  func remove(_ entry: Entry) {
    let removed = table.withLock { $0.remove(entry) }
    withExtendedLifetime(removed) {}
  }

  // MARK: Work

  /// Removes `entry` when `cell`, which is its cell, is cancelled and it has no lead, before callers
  /// receive the error, and cancels its task, if it has one.
  @usableFromInline
  func prepare(_ entry: Entry, _ cell: Cell) {
    // The hooks are released when the cell settles, which ends the cycle.
    cell.onCancel { [self, unowned cell] in
      guard entry.noteCancellation(of: cell) else { return }
      remove(entry)
      entry.takeTask().map(RemainingWork.cancel)
    }
  }

  /// Ends the wait of the lead of `entry`, and cancels the work if no other caller needs it.
  @usableFromInline
  func cancelLead(of entry: Entry) {
    let (continuation, isLast) = entry.leave()
    if isLast { remove(entry) }
    continuation?.resume(throwing: CancellationError())
    if isLast { entry.takeTask().map(RemainingWork.cancel) }
  }

  /// Starts the work of a new entry as a task, on this thread if that is possible.
  ///
  /// So work that doesn't suspend needs no other thread, and its caller doesn't wait.
  @inlinable
  func begin<Key, Value: Sendable>(
    _ entry: KeyedEntry<Key, Value?>, _ operation: AsyncOperation<Value>
  ) {
    entry.work.start {
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        let hasStarted = ImmediateTasks.nest {
          _ = Task.immediate { await run(operation, as: entry) }
        }
        if hasStarted { return }
      }
      Task { await run(operation, as: entry) }
    }
  }

  /// Runs the work of an entry, which is that of the current task, and ends it.
  @inlinable @inline(__always)
  nonisolated(nonsending) func run<Key, Value: Sendable>(
    _ operation: AsyncOperation<Value>, as entry: KeyedEntry<Key, Value?>
  ) async {
    guard entry.noteTask() else { return await operation.discard(isolation: operation.isolation) }
    switch await operation.run() {
    case .success(let moved):
      let value = moved.value
      entry.value = value
      let isCached = end(entry, isFulfilled: true)
      let (lead, cell) = entry.end(with: isCached ? Promise<Value>.value(value).cell : nil)
      if let cell { _ = cell.fulfill(value, unlessCancelled: true) }
      lead?.resume()
    case .failure(let error):
      entry.error = error
      end(entry, isFulfilled: false)
      let (lead, cell) = entry.end(with: nil)
      cell?.reject(Rejection(error, origin: nil), unlessCancelled: true)
      lead?.resume()
    }
  }

  /// Settles `entry`, by `copy`, when the work that settles `started` has ended.
  ///
  /// - Parameter old: The entry whose stale value the work replaces, if any.
  @usableFromInline
  func finish(
    _ entry: Entry, replacing old: Entry? = nil, after started: Cell,
    _ copy: @escaping @Sendable (Cell) -> Void
  ) {
    let cell = entry.cell
    let forwarder = Handler(.observer, of: started, on: .inPlace, body: nil) { [self] _, source in
      let isFulfilled = source.rejection == nil
      if let old { endRefresh(of: old, by: entry, isFulfilled: isFulfilled) }
      end(entry, isFulfilled: isFulfilled)
      copy(source)
    }
    forwarder.noteObserving(for: cell)
    started.attach(forwarder)
    cell.addForwarder(forwarder, producer: started)
  }

  /// Puts `fresh` in place of `old`, whose stale value it replaces, or, if the work has failed, lets a
  /// later request start work again.
  private func endRefresh(of old: Entry, by fresh: Entry, isFulfilled: Bool) {
    guard isFulfilled else {
      monitors.note(.refreshFailed)
      // No caller can join anymore.
      _ = fresh.end(with: nil)
      return old.endRefresh()
    }
    let removed = table.withLock { table in
      let removed = table.remove(old)
      // Not if the key was removed in the meantime, or `fresh` has already replaced it.
      if removed != nil { table.insert(fresh) }
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  /// Caches the value of an entry whose work has ended and returns true, or removes the entry.
  @usableFromInline @discardableResult
  func end(_ entry: Entry, isFulfilled: Bool) -> Bool {
    entry.work.end()
    guard caching != nil, isFulfilled else {
      remove(entry)
      return false
    }
    entry.arrival = age()
    noteValue(of: entry)
    return true
  }

  /// Makes room for the value of `entry` by removing the least recently used values.
  private func noteValue(of entry: Entry) {
    guard let capacity = caching?.capacity else { return }
    let removed = table.withLock { table in
      table.noteValue(of: entry)
      let removed = table.removeOldestValues(beyond: max(capacity, 0))
      for entry in removed { if let refresh = entry.refresh { table.insert(refresh) } }
      return removed
    }
    withExtendedLifetime(removed) {}
  }
}

extension KeyTable<CoalescerEntry> {
  /// Replaces `old`, whose value has expired, by the entry of the work that replaces the value, if that
  /// is in progress; see `insert(_:replacing:in:)`.
  fileprivate mutating func insertRefresh(of old: Entry, in bucket: Bucket?) -> Bool {
    old.refresh.map { insert($0, replacing: old, in: bucket) } ?? false
  }
}

/// The work of an entry, to detect work that waits for itself.
///
/// It is separate from the entry, because a task can run for longer than the entry exists.
///
/// `@unchecked Sendable`: `outer` is written before the work starts, and by the last reference.
@usableFromInline
final class CoalescedWork: @unchecked Sendable {
  /// The work in which the current task runs, which can have ended; `none` isn't `nil`, because values
  /// of a class are copied faster.
  @TaskLocal static var current = none
  static let none = CoalescedWork(hasEnded: true)

  /// Creates work that starts inside `outer`, for `run(_:)`.
  init(in outer: CoalescedWork? = nil, hasEnded: Bool = false) {
    self.outer = outer?.firstUnfinished
    self.hasEnded = AtomicFlag(hasEnded)
  }

  private let hasEnded: AtomicFlag
  /// The work in which this work started, unless it had ended.
  private(set) var outer: CoalescedWork?

  // Not recursive, however deeply work is nested.
  deinit {
    var rest = exchange(&outer, with: nil)
    while isKnownUniquelyReferenced(&rest) {
      rest = exchange(&rest.unsafelyUnwrapped.outer, with: nil)
    }
  }

  /// Calls `start`, which runs, with the tasks that it starts, as a part of this work; this work is a
  /// part of the current one.
  @usableFromInline
  func start<Started>(_ start: () -> Started) -> Started {
    outer = Self.current.firstUnfinished
    return Self.$current.withValue(self, operation: start)
  }

  /// Runs `operation` as this work.
  nonisolated(nonsending) func run(_ operation: nonisolated(nonsending) () async -> Void) async {
    await Self.$current.withValue(self, operation: operation)
  }

  func end() { hasEnded.store(true, ordering: .releasing) }

  /// This work, or the first one around it that hasn't ended: a task can start the work that starts
  /// the next task.
  private var firstUnfinished: CoalescedWork? {
    var work: CoalescedWork? = self
    while let next = work, next.hasEnded.load(ordering: .acquiring) { work = next.outer }
    return work
  }

  /// Whether the current task is a part of this work, which would wait for itself.
  @usableFromInline var isCurrent: Bool {
    if hasEnded.load(ordering: .acquiring) { return false }
    var work = Self.current
    while work !== self {
      guard let outer = work.outer else { return false }
      work = outer
    }
    return true
  }
}
