/// The request for one key: the part that depends neither on the type of the key nor on that of the
/// value, because generic code looks up the metadata of its types at each step.
///
/// `@unchecked Sendable`: immutable except for atomics and for `place`, which is guarded by the
/// table's lock.
@usableFromInline
class CoalescerEntry: @unchecked Sendable {
  /// Its work, if it starts any.
  @usableFromInline final let work = CoalescedWork()
  @usableFromInline final let hash: Int
  /// The cell of the promise whose consumers are the callers.
  @usableFromInline final let cell: Cell
  /// Its place in the table's list of values; zero until it has one.
  fileprivate final var place = 0
  private final let arrivalBits = AtomicWord(UInt64.max)
  private final let isRefreshing = Atomic(false)

  @usableFromInline
  init(hash: Int, _ cell: Cell) {
    self.hash = hash
    self.cell = cell
  }

  private enum TaskState {
    case none
    case started(Task<Void, Never>)
    case cancelled
  }

  private final let task = Mutex(TaskState.none)

  /// Stores the task that does the work, or cancels it if the work was cancelled before.
  @usableFromInline
  final func note(_ newTask: Task<Void, Never>) {
    let wasCancelled = task.withLock { state in
      if case .cancelled = state { return true }
      state = .started(newTask)
      return false
    }
    guard wasCancelled else { return }
    newTask.cancel()
    CancelledTasks.note(newTask)
  }

  /// Returns the task to cancel, if it has started.
  final func takeTask() -> Task<Void, Never>? {
    let old = task.withLock { exchange(&$0, with: .cancelled) }
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

  /// Returns whether the caller must refresh the value: true until `endRefresh()`, for one caller.
  @usableFromInline
  final func beginRefresh() -> Bool {
    !isRefreshing.exchange(true, ordering: .acquiringAndReleasing)
  }

  final func endRefresh() { isRefreshing.store(false, ordering: .releasing) }

  /// Whether its value has been in the store for `total` nanoseconds and isn't being replaced.
  final func hasExpired(at now: Int64, after total: Int64) -> Bool {
    guard let arrival else { return false }
    return now - arrival >= total && !isRefreshing.load(ordering: .acquiring)
  }
}

/// The request for one key.
///
/// `@unchecked Sendable`: `key` is accessed only by the coalescer, which is sendable only if its keys
/// are; but any thread can release it.
@usableFromInline
final class KeyedEntry<Key>: CoalescerEntry, @unchecked Sendable {
  @usableFromInline let key: Key

  @inlinable
  init(key: Key, hash: Int, _ cell: Cell) {
    self.key = key
    super.init(hash: hash, cell)
  }
}

/// The entries whose keys have the same hash; usually, there is one.
enum CoalescerBucket: Equatable {
  case one(CoalescerEntry)
  case several([CoalescerEntry])

  var entries: [CoalescerEntry] {
    switch self {
    case .one(let entry): [entry]
    case .several(let entries): entries
    }
  }

  func first(where isWanted: (CoalescerEntry) -> Bool) -> CoalescerEntry? {
    switch self {
    case .one(let entry): isWanted(entry) ? entry : nil
    case .several(let entries): entries.first(where: isWanted)
    }
  }

  func contains(_ entry: CoalescerEntry) -> Bool { first { $0 === entry } != nil }

  static func == (left: Self, right: Self) -> Bool {
    if case .one(let left) = left, case .one(let right) = right { return left === right }
    return left.entries.elementsEqual(right.entries, by: ===)
  }
}

/// The entries of a coalescer, found by hash.
///
/// Pure bookkeeping: no key is hashed, compared, or released here.
struct CoalescerTable {
  typealias Entry = CoalescerEntry
  typealias Bucket = CoalescerBucket

  private var buckets: [Int: Bucket] = [:]
  private(set) var count = 0
  /// The entries whose values have arrived, to enforce the capacity.
  private var values = RecencyList<Entry>()
  /// The number of entries that starts the next sweep.
  private var sweepCount = Self.minimumSweepCount

  private static var minimumSweepCount: Int { 64 }

  func bucket(_ hash: Int) -> Bucket? { buckets[hash] }

  mutating func insert(_ entry: Entry) {
    if let bucket = buckets[entry.hash] {
      buckets[entry.hash] = .several(bucket.entries + [entry])
    } else {
      buckets[entry.hash] = .one(entry)
    }
    count += 1
  }

  /// Adds the value of an entry as the most recently used one, unless the entry has been removed.
  mutating func noteValue(of entry: Entry) {
    guard buckets[entry.hash]?.contains(entry) == true else { return }
    entry.place = values.insert(entry)
  }

  /// Makes the value of an entry, if it has one, the most recently used one.
  mutating func noteUse(of entry: Entry) { values.use(entry, at: entry.place) }

  /// Removes and returns an entry; nil if it has already been removed.
  ///
  /// The caller must release it without holding the lock.
  mutating func remove(_ entry: Entry) -> Entry? {
    guard let bucket = buckets[entry.hash], bucket.contains(entry) else { return nil }
    let rest = bucket.entries.filter { $0 !== entry }
    buckets[entry.hash] = rest.isEmpty ? nil : rest.count == 1 ? .one(rest[0]) : .several(rest)
    values.remove(entry, at: entry.place)
    count -= 1
    return entry
  }

  /// Removes and returns everything.
  ///
  /// The caller must release the result without holding the lock.
  mutating func removeAll() -> CoalescerTable { exchange(&self, with: CoalescerTable()) }

  /// Returns all entries if it's time to remove those that have expired.
  mutating func entriesToSweep() -> [Entry] {
    guard count >= sweepCount else { return [] }
    // No other thread sweeps at the same time.
    sweepCount = .max
    return buckets.values.flatMap(\.entries)
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
