/// The work of a coalescer, apart from hashing and comparing keys.
final class CoalescerStore<Key, Value: Sendable>: @unchecked Sendable {
  // `@unchecked Sendable`: the state is guarded by `table`'s lock. Keys are accessed only by the
  // coalescer, which is sendable only if they are.

  typealias Entry = CoalescerEntry<Key, Value>

  let table = Mutex(CoalescerTable<Key, Value>())
  let monitors = Monitors<CoalescerEvent>()
  private let caching: CoalescerCaching?
  /// Returns the time since the store was created.
  private let stopwatch: @Sendable () -> TimeSpan
  /// The target for closures that read the clock.
  private let target: HandlerTarget

  init(caching: CoalescerCaching?, _ time: TimeSource) {
    self.caching = caching
    stopwatch = time.stopwatch()
    target = time.target
  }

  /// Returns the number of nanoseconds since the store was created.
  private func age() -> Int64 { stopwatch().inNanoseconds }

  private func isUsable(_ entry: Entry) -> Bool {
    guard let arrival = entry.arrival else { return !entry.promise.isCancelled }
    guard let total = caching?.total else { return true }
    return age() - arrival < total
  }

  private func isStale(_ entry: Entry) -> Bool {
    guard let lifetime = caching?.fresh, let arrival = entry.arrival else { return false }
    return age() - arrival >= lifetime.inNanoseconds
  }

  // MARK: Callers

  /// How a request for a key is served.
  enum Role {
    /// The caller starts the work of this entry.
    case starting(Entry)
    /// The caller receives the stale value of this entry, and starts work that replaces it.
    case refreshing(Entry)
    /// The work is in progress, or has ended.
    case joining(Entry)
  }

  /// Returns how a request is served, and the caller's own promise.
  ///
  /// - Parameter isEqual: Compares the key of an entry, which runs without the lock.
  func request(
    _ key: Key, hash: Int, _ isEqual: (Key) -> Bool
  ) -> (role: Role, promise: Promise<Value>) {
    var fresh: (entry: Entry, promise: Promise<Value>)?
    while true {
      let bucket = table.withLock { $0.bucket(hash) }
      let found = bucket?.first { isEqual($0.key) }
      if let found, isUsable(found) {
        if let promise = join(found) { return (role(joining: found), promise) }
        // All callers cancelled before this one joined.
        remove(found)
        continue
      }
      let new = fresh ?? Self.newEntry(key, hash)
      if insert(new.entry, replacing: found, in: bucket) {
        monitors.note(.started)
        return (.starting(new.entry), new.promise)
      }
      // A request with the same hash was faster.
      fresh = new
    }
  }

  /// Returns an entry, and a promise for the caller that starts its work.
  ///
  /// The caller is a consumer before other callers can join and cancel.
  private static func newEntry(_ key: Key, _ hash: Int) -> (entry: Entry, promise: Promise<Value>) {
    let entry = Entry(key: key, hash: hash)
    return (entry, entry.promise.share())
  }

  /// Returns a promise for another caller; nil if the work was cancelled.
  ///
  /// The consumers of an entry's promise are its callers. When all have cancelled, the promise is
  /// cancelled, and with it the work; a caller that is a consumer by then prevents that.
  private func join(_ entry: Entry) -> Promise<Value>? {
    if caching?.capacity != nil { table.withLock { $0.noteUse(of: entry) } }
    if !entry.promise.isPending { return entry.promise }
    let promise = entry.promise.share()
    return entry.promise.isCancelled ? nil : promise
  }

  private func role(joining entry: Entry) -> Role {
    if isStale(entry) {
      monitors.note(.stale)
      return .refreshing(entry)
    }
    monitors.note(entry.arrival == nil ? .joined : .cached)
    return .joining(entry)
  }

  // MARK: Entries

  /// Replaces `old`, if any, with `fresh`, unless the entries with its hash aren't those of
  /// `bucket` anymore.
  private func insert(
    _ fresh: Entry, replacing old: Entry?, in bucket: CoalescerBucket<Key, Value>?
  ) -> Bool {
    let (inserted, removed): (Bool, Entry?) = table.withLock { table in
      guard table.bucket(fresh.hash) == bucket else { return (false, nil) }
      let removed = old.flatMap { table.remove($0) }
      table.insert(fresh)
      return (true, removed)
    }
    SharedThread.release(removed)
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
    SharedThread.release((entries, removed))
  }

  func remove(_ entry: Entry) {
    let removed = table.withLock { $0.remove(entry) }
    SharedThread.release(removed)
  }

  // MARK: Work

  /// Starts the work of a new entry, which `start` returns.
  func begin(_ entry: Entry, _ start: () throws -> Promise<Value>) {
    let (cell, work) = (entry.promise.cell, entry.work)
    // Registered before the work starts, so that the entry is removed before callers receive an
    // error.
    cell.onCancel { [weak self, weak entry] in
      if let self, let entry { remove(entry) }
    }
    let started = work.start { Promise<Value>.attempted { try start() } }.cell
    let forwarder = Handler(
      input: Cell.Input.hearsAbandonment | target.flags, source: started, target: target.object,
      body: nil
    ) { [self] _, source in
      work.end()
      finish(entry, isFulfilled: source.rejection == nil)
      cell.copy(from: source, as: Value.self)
    }
    forwarder.noteObserving(for: cell)
    started.attach(forwarder)
    cell.addForwarder(forwarder, producer: started)
  }

  /// Starts the work of a new entry as a task.
  func begin(_ entry: Entry, _ operation: AsyncOperation<Value>) {
    let (cell, work, isolation) = (entry.promise.cell, entry.work, operation.isolation)
    let task = work.start {
      Task {
        let result = await operation.run(isolation: isolation)
        work.end()
        switch result {
        case .success(let value):
          finish(entry, isFulfilled: true)
          _ = cell.fulfill(value.value)
        case .failure(let error):
          finish(entry, isFulfilled: false)
          cell.reject(Rejection(error, origin: nil))
        }
      }
    }
    cell.onCancel { [weak self, weak entry] in
      if let self, let entry { remove(entry) }
      // First the promise, because the task could end immediately, and with a value.
      cell.reject(.cancellation)
      task.cancel()
      CancelledTasks.note(task)
    }
  }

  /// Caches the value of an entry whose work has ended, or removes the entry.
  private func finish(_ entry: Entry, isFulfilled: Bool) {
    guard caching != nil, isFulfilled else { return remove(entry) }
    entry.arrival = age()
    noteValue(of: entry)
  }

  /// Starts work that replaces the stale value of `old`, unless such work is already in progress.
  func refresh(_ old: Entry, _ start: () throws -> Promise<Value>) {
    guard old.beginRefresh() else { return }
    let fresh = Entry(key: old.key, hash: old.hash)
    // Not as the work of an entry: a request that it makes gets the stale value.
    let work = Promise<Value>.attempted { try start() }
    // The caller already has a value, so an error has no consumer.
    work.tapped(target) { [self] result in
      guard case .success(let value) = result else {
        old.endRefresh()
        return monitors.note(.refreshFailed)
      }
      fresh.arrival = age()
      _ = fresh.promise.cell.fulfill(value)
      let removed = table.withLock { table in
        let removed = table.remove(old)
        // Not if the key was removed in the meantime.
        if removed != nil {
          table.insert(fresh)
          table.noteValue(of: fresh)
        }
        return removed
      }
      SharedThread.release(removed)
    }.cauterize()
  }

  /// Makes room for the value of `entry` by removing the least recently used values.
  private func noteValue(of entry: Entry) {
    guard let capacity = caching?.capacity else { return }
    let removed = table.withLock { table in
      table.noteValue(of: entry)
      return table.removeOldestValues(beyond: max(capacity, 0))
    }
    SharedThread.release(removed)
  }
}

/// The work of an entry, to detect work that waits for itself.
///
/// It is separate from the entry, because a task can run for longer than the entry exists.
final class CoalescedWork: Sendable {
  /// The unfinished work in which the current task runs, and some that has ended.
  @TaskLocal static var current: [CoalescedWork] = []

  private let hasEnded = AtomicFlag(false)

  /// Calls `start`, which runs as a part of this work.
  func start<Started>(_ start: () -> Started) -> Started {
    // Without the work that has ended: a task can start the work that starts the next task.
    let outer = Self.current.filter { !$0.hasEnded.load(ordering: .acquiring) }
    return Self.$current.withValue(outer + [self], operation: start)
  }

  func end() { hasEnded.store(true, ordering: .releasing) }

  /// Whether the current task is a part of this work, which would wait for itself.
  var isCurrent: Bool {
    !hasEnded.load(ordering: .acquiring) && Self.current.contains { $0 === self }
  }
}
