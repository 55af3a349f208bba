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
/// Limiters are only removed in ``limiter(for:)``, each call of which looks at 16 of those that were
/// used least recently, and at four more for each that it removes.
public final class KeyedLimiter<Key: Hashable & Sendable>: Sendable {
  private let table = Mutex(KeyTable<KeyedLimiterEntry<Key>>())
  private let capacity: Int
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
    self.capacity = max(capacity, 0)
    self.makeLimiter = makeLimiter
  }

  /// The number of limiters, including those that aren't in use and haven't been removed.
  public var count: Int { table.withLock { $0.count } }

  /// Returns the limiter for `key`.
  ///
  /// - Complexity: Amortized O(1).
  public func limiter(for key: Key) -> Limiter {
    let limiter = findOrMakeLimiter(for: key)
    // A few at a time, so that the lock is held briefly; they are released without it.
    var looks = 16
    while looks > 0 {
      let old = oldestEntries(4)
      if old.isEmpty { break }
      let removed = table.withLock { $0.removeIdle(of: old, beyond: capacity) }
      looks += 4 * removed.count - 4
    }
    return limiter
  }

  /// Returns the least recently used entries if there are too many, and tells their limiters the time.
  private func oldestEntries(_ number: Int) -> [KeyedLimiterEntry<Key>] {
    let (entries, limiters) = table.withLock { table in
      let entries = table.oldest(number, beyond: capacity)
      return (entries, entries.map(\.limiter))
    }
    // Without the lock, because clocks can be user code.
    for limiter in limiters { limiter.noteTime() }
    return entries
  }

  private func findOrMakeLimiter(for key: Key) -> Limiter {
    // Keys are user code, so that none is hashed, compared, or released under the lock.
    let hash = key.hashValue
    var new: KeyedLimiterEntry<Key>?
    while true {
      let bucket = table.withLock { $0.bucket(hash) }
      if let entry = bucket?.first(where: { $0.key == key }) {
        let limiter = table.withLock { $0.noteUse(of: entry) ? entry.limiter : nil }
        if let limiter { return limiter }
        // It was removed after it was found.
        continue
      }
      let entry = new ?? KeyedLimiterEntry(key, hash, makeLimiter(key))
      new = entry
      let limiter = table.withLock { table -> Limiter? in
        guard table.insert(entry, replacing: nil, in: bucket) else { return nil }
        table.noteValue(of: entry)
        return entry.limiter
      }
      if let limiter { return limiter }
    }
  }
}

/// The limiter of one key.
///
/// `@unchecked Sendable`: `limiter` is guarded by the lock of the table; `key` is `Sendable` and
/// immutable.
final class KeyedLimiterEntry<Key: Hashable & Sendable>: TableEntry, @unchecked Sendable {
  let key: Key
  fileprivate var limiter: Limiter

  init(_ key: Key, _ hash: Int, _ limiter: Limiter) {
    self.key = key
    self.limiter = limiter
    super.init(hash: hash)
  }

  /// Whether nothing else refers to the limiter, or can notice that another one replaces it.
  ///
  /// Running operations retain their limiter. Only the table hands limiters out, so that none can come
  /// into use while its lock is held.
  var isIdle: Bool { isKnownUniquelyReferenced(&limiter) && limiter.isIdle }
}

extension KeyTable {
  /// Returns the least recently used entries, at most `number`, and makes them the most recently used;
  /// none if there aren't more than `capacity` entries.
  fileprivate mutating func oldest(_ number: Int, beyond capacity: Int) -> [Entry] {
    if count <= capacity { return [] }
    return (0..<min(number, count)).compactMap { _ in
      oldest.map { entry in
        noteUse(of: entry)
        return entry
      }
    }
  }

  /// Removes and returns those of `entries` that are idle, as long as there are more than `capacity`.
  fileprivate mutating func removeIdle<Key>(
    of entries: [Entry], beyond capacity: Int
  ) -> [Entry] where Entry == KeyedLimiterEntry<Key> {
    entries.compactMap { count > capacity && $0.isIdle ? remove($0) : nil }
  }
}
