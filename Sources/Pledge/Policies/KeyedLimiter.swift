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
  @usableFromInline typealias Entry = KeyedLimiterEntry<Key>

  @usableFromInline let store: KeyedLimiterStore
  @usableFromInline let makeLimiter: @Sendable (Key) -> Limiter

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
    store = KeyedLimiterStore(capacity: max(capacity, 0))
    self.makeLimiter = makeLimiter
  }

  /// The number of limiters, including those that aren't in use and haven't been removed.
  public var count: Int { store.table.withLock { $0.count } }

  /// Returns the limiter for `key`.
  ///
  /// - Complexity: Amortized O(1).
  @inlinable
  public func limiter(for key: Key) -> Limiter {
    let hash = key.hashValue
    return store.limiter(hash: hash) {
      unsafeDowncast($0, to: Entry.self).key == key
    } make: {
      Entry(key: key, hash: hash, makeLimiter(key))
    }
  }
}

/// The limiters of all keys, apart from what depends on the type of the keys.
///
/// Generic code looks up the metadata of its types at each step, so that part is thin, and is
/// specialized where a limiter is requested.
@usableFromInline
final class KeyedLimiterStore: Sendable {
  let table = Mutex(KeyTable<LimiterEntry>())
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// Returns the limiter of the entry for a key, which is `make()` if there is none.
  ///
  /// Keys are user code, so that none is hashed, compared, or released under the lock.
  ///
  /// - Parameter isWanted: Compares the key of an entry.
  @usableFromInline
  func limiter(
    hash: Int, _ isWanted: (LimiterEntry) -> Bool, make: () -> LimiterEntry
  ) -> Limiter {
    let limiter = findOrMakeLimiter(hash: hash, isWanted, make)
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
  private func oldestEntries(_ number: Int) -> [LimiterEntry] {
    let (entries, limiters) = table.withLock { table in
      let entries = table.oldest(number, beyond: capacity)
      return (entries, entries.map(\.limiter))
    }
    // Without the lock, because clocks can be user code.
    for limiter in limiters { limiter.noteTime() }
    return entries
  }

  private func findOrMakeLimiter(
    hash: Int, _ isWanted: (LimiterEntry) -> Bool, _ make: () -> LimiterEntry
  ) -> Limiter {
    var new: LimiterEntry?
    while true {
      let bucket = table.withLock { $0.bucket(hash) }
      if let entry = bucket?.first(where: isWanted) {
        let limiter = table.withLock { $0.noteUse(of: entry) ? entry.limiter : nil }
        if let limiter { return limiter }
        // It was removed after it was found.
        continue
      }
      let entry = new ?? make()
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

/// The limiter of one key, which is in a subclass.
///
/// `@unchecked Sendable`: `limiter` is guarded by the lock of the table.
@usableFromInline
class LimiterEntry: TableEntry, @unchecked Sendable {
  fileprivate final var limiter: Limiter

  @usableFromInline
  init(hash: Int, _ limiter: Limiter) {
    self.limiter = limiter
    super.init(hash: hash)
  }

  /// Whether nothing else refers to the limiter, or can notice that another one replaces it.
  ///
  /// Running operations retain their limiter. Only the table hands limiters out, so that none can come
  /// into use while its lock is held.
  fileprivate final var isIdle: Bool {
    isKnownUniquelyReferenced(&limiter) && limiter.isIdle
  }
}

/// The limiter of one key.
///
/// `@unchecked Sendable`: `key` is `Sendable` and immutable.
@_fixed_layout @usableFromInline
final class KeyedLimiterEntry<Key: Hashable & Sendable>: LimiterEntry, @unchecked Sendable {
  @usableFromInline let key: Key

  @inlinable
  init(key: Key, hash: Int, _ limiter: Limiter) {
    self.key = key
    super.init(hash: hash, limiter)
  }
}

extension KeyTable<LimiterEntry> {
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
  fileprivate mutating func removeIdle(of entries: [Entry], beyond capacity: Int) -> [Entry] {
    entries.compactMap { count > capacity && $0.isIdle ? remove($0) : nil }
  }
}
