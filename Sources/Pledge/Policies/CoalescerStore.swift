/// How long, and how many values, a ``RequestCoalescer`` caches.
public struct CoalescerCaching: Sendable, Hashable {
  /// The time for which a value is cached; nil for no limit other than the capacity.
  ///
  /// Expired values are removed whenever the number of keys has doubled, so there are at most 64
  /// keys, or twice as many as were in use the last time.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var lifetime: Duration? {
    get { fresh?.duration }
    set { fresh = newValue.map { TimeSpan($0) } }
  }
  /// The time after its lifetime during which a stale value is still returned while new work
  /// replaces it.
  ///
  /// If that work fails, its error is ignored: the stale value remains, and the next request starts
  /// new work.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public var staleLifetime: Duration {
    get { stale.duration }
    set { stale = TimeSpan(newValue) }
  }
  /// The maximum number of cached values; the least recently used one is removed first.
  public var capacity: Int?

  fileprivate var fresh: TimeSpan?
  fileprivate var stale: TimeSpan

  /// Caches values for `lifetime`, and returns stale values for another `staleLifetime` while they
  /// are refreshed ("stale while revalidate").
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(
    lifetime: Duration? = nil, staleLifetime: Duration = .zero, capacity: Int? = nil
  ) {
    self.init(lifetime.map { TimeSpan($0) }, stale: TimeSpan(staleLifetime), capacity)
  }

  init(_ fresh: TimeSpan?, stale: TimeSpan, _ capacity: Int?) {
    self.fresh = fresh
    self.stale = stale
    self.capacity = capacity
  }

  /// The time for which a value is kept, in nanoseconds; nil for no limit.
  fileprivate var total: Int64? {
    fresh.map {
      let (sum, overflow) = $0.inNanoseconds.addingReportingOverflow(stale.inNanoseconds)
      return overflow ? (stale < .zero ? .min : .max) : sum
    }
  }
}

/// The part of a coalescer that doesn't depend on the type of the keys.
final class CoalescerStore<Value: Sendable>: Sendable {
  typealias Entry = CoalescerEntry<Value>

  let table = Mutex(CoalescerTable<Value>())
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

  func isUsable(_ entry: Entry) -> Bool {
    guard let arrival = entry.arrival.withLock({ $0 }) else { return !entry.promise.isCancelled }
    guard let total = caching?.total else { return true }
    return age() - arrival < total
  }

  func isStale(_ entry: Entry) -> Bool {
    guard let arrival = entry.arrival.withLock({ $0 }), let lifetime = caching?.fresh else {
      return false
    }
    return age() - arrival >= lifetime.inNanoseconds
  }

  /// Replaces `old`, if any, with `fresh`, unless the table has changed since `version`.
  func insert(_ fresh: Entry, replacing old: Entry?, version: Int) -> Bool {
    let (inserted, removed): (Bool, Entry?) = table.withLock { table in
      guard table.version == version else { return (false, nil) }
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
    // The clock is user code, and an entry has a lock of its own.
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

  /// Returns a separate promise for the value of `entry` to a caller that has joined it.
  func share(_ entry: Entry) -> Promise<Value> {
    guard entry.promise.isPending else { return entry.promise.share() }
    let (promise, resolver) = Promise<Value>.withResolvers()
    // Retains the store, whose table counts the callers, because a caller can outlive the
    // coalescer.
    promise.cell.onCancel { self.leave(entry) }
    resolver.resolve(onlyWith: entry.promise.uncancellable())
    return promise
  }

  /// Records that a caller no longer waits for `entry`; the last one cancels the work.
  func leave(_ entry: Entry) {
    let (isLast, removed) = table.withLock { $0.leave(entry) }
    SharedThread.release(removed)
    if isLast { entry.promise.cancel() }
  }

  /// Starts the work of a new entry.
  func begin(_ entry: Entry, _ start: () throws -> Promise<Value>) {
    entry.noteBeginning()
    // Attached before the work starts, so that the entry is removed before callers receive an
    // error.
    entry.promise.cell.onCancel { [weak self, weak entry] in
      if let self, let entry { remove(entry) }
    }
    let work = entry.work
    let started = work.start(start)
    entry.resolver.resolve(
      onlyWith: .onEnd(of: started, target: target) { [weak self, weak entry] in
        work.end()
        guard let self, let entry else { return }
        guard caching != nil, case .success? = started.currentResult else { return remove(entry) }
        let arrival = age()
        entry.arrival.withLock { $0 = arrival }
        noteValue(of: entry)
      })
  }

  /// Starts work that replaces the stale value of `old`, unless such work is already in progress.
  func revalidate(_ old: Entry, _ start: () throws -> Promise<Value>) {
    guard old.beginRevalidation() else { return }
    let fresh = Entry(key: old.key, hash: old.hash)
    fresh.noteBeginning()
    // Not as the work of an entry: a request that it makes gets the stale value.
    let work = Promise<Value>.attempted { try start() }
    let ending = Promise.onEnd(of: work, target: target) { [weak self] in
      guard let self else { return }
      guard case .success? = work.currentResult else {
        old.endRevalidation()
        return monitors.note(.refreshFailed)
      }
      let arrival = age()
      fresh.arrival.withLock { $0 = arrival }
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
    }
    fresh.resolver.resolve(onlyWith: ending)
    // The caller already has a value, so this error has no consumer.
    fresh.promise.cauterize()
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
  func start<Value>(_ start: () throws -> Promise<Value>) -> Promise<Value> {
    // Without the work that has ended: a task can start the work that starts the next task.
    let outer = Self.current.filter { !$0.hasEnded.load(ordering: .acquiring) }
    return Self.$current.withValue(outer + [self]) {
      Promise<Value>.attempted { try start() }
    }
  }

  func end() { hasEnded.store(true, ordering: .releasing) }

  /// Whether the current task is a part of this work, which would wait for itself.
  var isCurrent: Bool {
    !hasEnded.load(ordering: .acquiring) && Self.current.contains { $0 === self }
  }
}

/// The request for one key.
///
/// `@unchecked Sendable`: immutable except for `arrival`, which has a lock, and `place` and
/// `callers`, which are guarded by the table's lock. `key` is accessed only by the coalescer, which
/// is sendable only if its keys are; but any thread can release it.
final class CoalescerEntry<Value: Sendable>: @unchecked Sendable {
  /// Its work, if it starts any.
  let work = CoalescedWork()
  let key: Any
  let hash: Int
  let promise: Promise<Value>
  let resolver: Resolver<Value>
  /// The age of the store when the value arrived, in nanoseconds; nil until then.
  let arrival = Mutex<Int64?>(nil)
  /// Its place in the table's list of values; zero until it has one.
  fileprivate var place = 0
  /// The number of callers that wait for it.
  fileprivate var callers = 1
  private let isRevalidating = Atomic(false)
  private let hasBegun = Atomic(false)

  init(key: Any, hash: Int) {
    self.key = key
    self.hash = hash
    (promise, resolver) = Promise<Value>.withResolvers()
  }

  // If the work never began, no caller has received the promise, so it is dropped silently.
  deinit {
    if !hasBegun.load(ordering: .acquiring) { resolver.abandon() }
  }

  func noteBeginning() { hasBegun.store(true, ordering: .releasing) }

  /// Returns whether the caller must refresh the value: true until `endRevalidation()`, for one
  /// caller.
  func beginRevalidation() -> Bool {
    !isRevalidating.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Whether its value has been in the store for `total` nanoseconds and isn't being replaced.
  func hasExpired(at now: Int64, after total: Int64) -> Bool {
    guard let arrival = arrival.withLock({ $0 }) else { return false }
    return now - arrival >= total && !isRevalidating.load(ordering: .acquiring)
  }

  func endRevalidation() { isRevalidating.store(false, ordering: .releasing) }
}

/// The entries of a coalescer, found by hash.
///
/// Pure bookkeeping: no key is hashed, compared, or released here.
struct CoalescerTable<Value: Sendable> {
  typealias Entry = CoalescerEntry<Value>

  private var entries: [Int: [Entry]] = [:]
  private(set) var count = 0
  /// Changes with each insertion and removal.
  private(set) var version = 0
  /// The entries whose values have arrived, to enforce the capacity.
  private var values = RecencyList<Entry>()
  /// The number of entries that starts the next sweep.
  private var sweepCount = Self.minimumSweepCount

  private static var minimumSweepCount: Int { 64 }

  func candidates(_ hash: Int) -> [Entry] { entries[hash] ?? [] }

  mutating func insert(_ entry: Entry) {
    entries[entry.hash, default: []].append(entry)
    count += 1
    version += 1
  }

  /// Adds the value of an entry as the most recently used one, unless the entry has been removed.
  mutating func noteValue(of entry: Entry) {
    guard entries[entry.hash]?.contains(where: { $0 === entry }) == true else { return }
    entry.place = values.insert(entry)
  }

  /// Adds a caller to an entry; false if all its callers have left.
  ///
  /// The table's lock determines whether a caller joins before the last one leaves, so a caller
  /// that has joined isn't affected by the cancellation of others.
  mutating func join(_ entry: Entry) -> Bool {
    guard entry.callers > 0 else { return false }
    entry.callers += 1
    values.use(entry, at: entry.place)
    return true
  }

  /// Removes a caller from an entry, and removes the entry from the table if that was the last one.
  mutating func leave(_ entry: Entry) -> (isLast: Bool, removed: Entry?) {
    entry.callers -= 1
    guard entry.callers == 0 else { return (false, nil) }
    return (true, remove(entry))
  }

  /// Removes and returns an entry; nil if it has already been removed.
  ///
  /// The caller must release it without holding the lock.
  mutating func remove(_ entry: Entry) -> Entry? {
    guard let index = entries[entry.hash]?.firstIndex(where: { $0 === entry }) else { return nil }
    let removed = entries[entry.hash]?.remove(at: index)
    if entries[entry.hash]?.isEmpty == true { entries[entry.hash] = nil }
    values.remove(entry, at: entry.place)
    count -= 1
    version += 1
    return removed
  }

  /// Removes and returns everything.
  ///
  /// The version continues, so that a caller that read the table before doesn't take the new one for
  /// the old one. The caller must release the result without holding the lock.
  mutating func removeAll() -> CoalescerTable {
    let removed = self
    self = CoalescerTable()
    version = removed.version + 1
    return removed
  }

  /// Returns all entries if it's time to remove those that have expired.
  mutating func entriesToSweep() -> [Entry] {
    guard count >= sweepCount else { return [] }
    // No other thread sweeps at the same time.
    sweepCount = .max
    return entries.values.flatMap { $0 }
  }

  /// Records the end of a sweep.
  mutating func noteSweep() { sweepCount = max(2 * count, Self.minimumSweepCount) }

  /// Removes the least recently used values until no more than `capacity` remain.
  mutating func removeOldestValues(beyond capacity: Int) -> [Entry] {
    var removed: [Entry] = []
    while values.count > capacity, let oldest = values.oldest {
      guard let entry = remove(oldest) else { break }
      removed.append(entry)
    }
    return removed
  }
}
