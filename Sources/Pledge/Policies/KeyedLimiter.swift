/// A limiter for each key, such as each host or each user.
///
/// ```swift
/// let limiters = KeyedLimiter<String> { _ in Limiter(6) }
/// let page = limiters.limiter(for: url.host).run { download(url) }
/// ```
///
/// Limiters are created when their key is first used. When there are more than `capacity`, those
/// that were used least recently are removed, unless they are in use: a limiter with operations, one
/// whose rate still counts operations, one that is paused, and one to which your code holds a
/// reference all stay. So two operations for the same key never have different limiters, and the
/// memory is bounded by the capacity and the number of keys in use.
///
/// Limiters are only removed in ``limiter(for:)``, each call of which checks four of them. So after n
/// of them were in use at the same time, those that aren't needed anymore are removed within n/4
/// calls for existing keys, or n/3 calls for new ones.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
  private let table: Mutex<KeyedLimiterTable<Key>>
  private let makeLimiter: @Sendable (Key) -> Limiter

  /// Creates an object without limiters.
  ///
  /// - Parameters:
  ///   - capacity: The maximum number of limiters that are kept while they aren't in use; a negative
  ///     number counts as zero.
  ///   - makeLimiter: Returns a new limiter for a key.
  ///
  /// **Execution.** `makeLimiter` runs inside ``limiter(for:)``. If two threads ask for a new key at
  /// the same time, it can run for both, and one of the limiters is discarded.
  public init(capacity: Int = 1_000, _ makeLimiter: @escaping @Sendable (Key) -> Limiter) {
    table = Mutex(KeyedLimiterTable(capacity: max(capacity, 0)))
    self.makeLimiter = makeLimiter
  }

  /// The number of limiters, including those that aren't in use and haven't been removed.
  public var count: Int { table.withLock { $0.count } }

  /// Returns the limiter for `key`.
  ///
  /// - Complexity: O(1).
  public func limiter(for key: Key) -> Limiter {
    // Keys are user code, so that none is hashed, compared, or released under the lock.
    let hash = key.hashValue
    var new: KeyedLimiterEntry<Key>?
    while true {
      let bucket = table.withLock { $0.bucket(hash) }
      if let entry = bucket.first(where: { $0.key == key }) {
        let (limiter, removed) = table.withLock { $0.use(entry) }
        withExtendedLifetime(removed) {}
        if let limiter { return limiter }
        // It was removed after it was found.
        continue
      }
      let entry = new ?? KeyedLimiterEntry(key, hash, makeLimiter(key))
      new = entry
      let (limiter, removed) = table.withLock { $0.insert(entry, ifUnchanged: bucket) }
      withExtendedLifetime(removed) {}
      if let limiter { return limiter }
    }
  }
}

/// The limiter of one key.
///
/// `@unchecked Sendable`: `limiter` and `place` are guarded by the lock of the table; `key` is
/// `Sendable` and immutable.
private final class KeyedLimiterEntry<Key: Hashable & Sendable>: @unchecked Sendable {
  let key: Key
  let hash: Int
  var limiter: Limiter
  /// Its place in the list of entries; nil if it isn't in the table.
  var place: Int?

  init(_ key: Key, _ hash: Int, _ limiter: Limiter) {
    self.key = key
    self.hash = hash
    self.limiter = limiter
  }

  /// Whether nothing else refers to the limiter, or can notice that another one replaces it.
  ///
  /// Running operations and counted ones of a rate retain their limiter. Only the table hands
  /// limiters out, so that none can come into use while its lock is held.
  var isIdle: Bool { isKnownUniquelyReferenced(&limiter) && limiter.isIdle }
}

/// The limiters by the hash of their keys: pure bookkeeping that calls no code of the keys.
private struct KeyedLimiterTable<Key: Hashable & Sendable> {
  typealias Entry = KeyedLimiterEntry<Key>
  /// The limiter, if the entry is in the table, and entries to release without the lock.
  typealias Answer = (limiter: Limiter?, removed: [Entry])

  private let capacity: Int
  private var buckets: [Int: [Entry]] = [:]
  private var recent = RecencyList<Entry>()

  init(capacity: Int) { self.capacity = capacity }

  var count: Int { recent.count }

  func bucket(_ hash: Int) -> [Entry] { buckets[hash] ?? [] }

  mutating func use(_ entry: Entry) -> Answer {
    guard let place = entry.place else { return (nil, []) }
    recent.use(entry, at: place)
    return answer(entry)
  }

  /// Inserts an entry, unless others with its hash were added or removed.
  mutating func insert(_ entry: Entry, ifUnchanged bucket: [Entry]) -> Answer {
    guard self.bucket(entry.hash).elementsEqual(bucket, by: ===) else { return (nil, []) }
    buckets[entry.hash, default: []].append(entry)
    entry.place = recent.insert(entry)
    return answer(entry)
  }

  private mutating func answer(_ entry: Entry) -> Answer {
    let limiter = entry.limiter
    // The reference keeps the limiter in the table.
    return withExtendedLifetime(limiter) { (limiter, removeIdle()) }
  }

  /// Removes idle entries if there are too many, and returns them.
  ///
  /// It looks at a few entries at a time, so that those in use cost little; they become recent.
  private mutating func removeIdle() -> [Entry] {
    var removed: [Entry] = []
    for _ in 0..<4 {
      guard count > capacity, let oldest = recent.oldest, let place = oldest.place else { break }
      guard oldest.isIdle else {
        recent.use(oldest, at: place)
        continue
      }
      recent.remove(oldest, at: place)
      oldest.place = nil
      buckets[oldest.hash]?.removeAll { $0 === oldest }
      if buckets[oldest.hash]?.isEmpty == true { buckets[oldest.hash] = nil }
      removed.append(oldest)
    }
    return removed
  }
}
