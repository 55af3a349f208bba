/// An entry of a table of keys.
///
/// `@unchecked Sendable`: `place` is guarded by the table's lock.
@usableFromInline
class TableEntry: @unchecked Sendable {
  @usableFromInline final let hash: Int
  /// Its place in the table's list of uses; zero until it has one.
  fileprivate final var place = 0

  @usableFromInline
  init(hash: Int) { self.hash = hash }
}

/// The entries whose keys have the same hash; usually, there is one.
enum TableBucket<Entry: TableEntry>: Equatable {
  case one(Entry)
  case several([Entry])

  var entries: [Entry] {
    switch self {
    case .one(let entry): [entry]
    case .several(let entries): entries
    }
  }

  func first(where isWanted: (Entry) -> Bool) -> Entry? {
    switch self {
    case .one(let entry): isWanted(entry) ? entry : nil
    case .several(let entries): entries.first(where: isWanted)
    }
  }

  func contains(_ entry: Entry) -> Bool { first { $0 === entry } != nil }

  static func == (left: Self, right: Self) -> Bool {
    if case .one(let left) = left, case .one(let right) = right { return left === right }
    return left.entries.elementsEqual(right.entries, by: ===)
  }
}

/// The entries of a coalescer or a keyed limiter, found by hash, and in the order of their last use.
///
/// Pure bookkeeping: no key is hashed, compared, or released here.
struct KeyTable<Entry: TableEntry> {
  typealias Bucket = TableBucket<Entry>

  private var buckets: [Int: Bucket] = [:]
  private(set) var count = 0
  /// The entries that count toward the capacity: in a coalescer, those whose values have arrived.
  private var values = RecencyList<Entry>()
  /// The number of entries that starts the next sweep.
  private var sweepCount = Self.minimumSweepCount

  private static var minimumSweepCount: Int { 64 }

  /// The least recently used of the entries that count toward the capacity.
  var oldest: Entry? { values.oldest }

  func bucket(_ hash: Int) -> Bucket? { buckets[hash] }

  mutating func insert(_ entry: Entry) {
    Self.insert(entry, in: &buckets[entry.hash])
    count += 1
  }

  /// Inserts an entry in place of `old`, if any, which has the same hash, and returns true; returns
  /// false if the entries with that hash aren't those of `expected` anymore.
  ///
  /// The caller must hold a reference to `old`, which must not be released under the lock.
  mutating func insert(_ entry: Entry, replacing old: Entry?, in expected: Bucket?) -> Bool {
    guard Self.insert(entry, replacing: old, expected, in: &buckets[entry.hash]) else {
      return false
    }
    if let old { values.remove(old, at: old.place) } else { count += 1 }
    return true
  }

  // Each has the bucket as a parameter, so that the table is searched once.

  private static func insert(
    _ entry: Entry, replacing old: Entry?, _ expected: Bucket?, in bucket: inout Bucket?
  ) -> Bool {
    guard bucket == expected else { return false }
    if let old { _ = remove(old, from: &bucket) }
    insert(entry, in: &bucket)
    return true
  }

  private static func insert(_ entry: Entry, in bucket: inout Bucket?) {
    bucket = bucket.map { .several($0.entries + [entry]) } ?? .one(entry)
  }

  /// Adds the value of an entry as the most recently used one, unless the entry has been removed.
  mutating func noteValue(of entry: Entry) {
    guard buckets[entry.hash]?.contains(entry) == true else { return }
    entry.place = values.insert(entry)
  }

  /// Makes the value of an entry, if it has one, the most recently used one; returns whether it has.
  @discardableResult
  mutating func noteUse(of entry: Entry) -> Bool { values.use(entry, at: entry.place) }

  /// Removes and returns an entry; nil if it has already been removed.
  ///
  /// The caller must release it without holding the lock.
  mutating func remove(_ entry: Entry) -> Entry? {
    guard Self.remove(entry, from: &buckets[entry.hash]) else { return nil }
    values.remove(entry, at: entry.place)
    count -= 1
    return entry
  }

  private static func remove(_ entry: Entry, from bucket: inout Bucket?) -> Bool {
    switch bucket {
    case .one(let only) where only === entry: bucket = nil
    case .several(let entries) where entries.contains { $0 === entry }:
      let rest = entries.filter { $0 !== entry }
      bucket = rest.count == 1 ? .one(rest[0]) : .several(rest)
    default: return false
    }
    return true
  }

  /// Removes and returns everything.
  ///
  /// The caller must release the result without holding the lock.
  mutating func removeAll() -> KeyTable { exchange(&self, with: KeyTable()) }

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
