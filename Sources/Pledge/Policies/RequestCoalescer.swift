/// A coalescer that shares work by key among all callers that request it while it is in progress
/// ("single flight"), and optionally caches its values.
///
/// ```swift
/// let images = RequestCoalescer<URL, Image>()
/// func image(at url: URL) -> Promise<Image> { images.promise(for: url) { download(url) } }
/// ```
///
/// Each caller gets its own promise. Its cancellation or timeout doesn't affect the other callers;
/// when all callers have cancelled, the work is cancelled. Failures aren't cached: the next request
/// starts new work.
///
/// Keys are hashed and compared in the isolation of the caller, never under a lock; any thread can
/// release them.
public final class RequestCoalescer<Key, Value: Sendable> {
  /// How long values are cached.
  public typealias Caching = CoalescerCaching

  private let store: CoalescerStore<Value>
  package var monitors: Monitors<CoalescerEvent> { _read { yield store.monitors } }

  /// Creates a coalescer.
  ///
  /// - Parameters:
  ///   - caching: Whether, and for how long, to cache values; nil for no cache.
  ///   - clock: The clock of the lifetimes.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(caching: Caching? = nil, clock: any Clock<Duration>) {
    store = CoalescerStore(caching: caching, TimeSource(clock))
  }

  /// Creates a coalescer; see ``init(caching:clock:)``.
  public init(caching: Caching? = nil) {
    store = CoalescerStore(caching: caching, .continuous)
  }

  /// The number of keys whose work is in progress or whose value is cached.
  public var count: Int { store.table.withLock { $0.count } }

  /// Removes all values; work in progress continues for its callers.
  public func removeAll() {
    let removed = store.table.withLock { $0.removeAll() }
    withExtendedLifetime(removed) {}
  }
}

// `@unchecked`: the store is sendable, and contains keys, which are sendable under this condition.
extension RequestCoalescer: @unchecked Sendable where Key: Sendable {}

extension RequestCoalescer where Key: Hashable {
  /// Returns a promise for the value for `key`; calls `start` unless its work is in progress or its
  /// value is cached.
  ///
  /// If `start`, or a task that it starts, requests the same key, that request is rejected with
  /// ``PromiseError/returnedItself``, because the work would wait for itself. If a handler of the
  /// work makes such a request and waits for it, or if the work of two keys waits for each other,
  /// this isn't detected, and the promises stay pending until they are cancelled.
  ///
  /// **Execution.** `start` runs inside this call.
  public func promise(for key: Key, _ start: () throws -> Promise<Value>) -> Promise<Value> {
    let (entry, isNew) = entry(for: key)
    if entry.work.isCurrent {
      store.leave(entry)
      return .rejected(PromiseError.returnedItself)
    }
    let result = store.share(entry)
    if isNew {
      store.monitors.note(.started)
      store.begin(entry, start)
    } else if store.isStale(entry) {
      store.monitors.note(.stale)
      store.revalidate(entry, start)
    } else {
      store.monitors.note(entry.promise.isPending ? .joined : .cached)
    }
    return result
  }

  /// Returns a promise for the value for `key`; runs `operation` unless its work is in progress or
  /// its value is cached.
  ///
  /// When all callers have cancelled, the task of `operation` is cancelled. Otherwise, this is the
  /// same as ``promise(for:_:)``.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @_disfavoredOverload
  public func promise(
    for key: Key,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise<Value> {
    let start = startingTasks(operation)
    return promise(for: key) { () -> Promise<Value> in start() }
  }

  /// Removes the value for `key`; work in progress continues for its callers.
  public func removeValue(for key: Key) {
    let hash = key.hashValue
    let candidates = store.table.withLock { $0.candidates(hash) }
    if let entry = candidates.first(where: { $0.key as? Key == key }) { store.remove(entry) }
  }

  private func entry(for key: Key) -> (entry: CoalescerEntry<Value>, isNew: Bool) {
    let hash = key.hashValue
    let fresh = CoalescerEntry<Value>(key: key, hash: hash)
    while true {
      // The key's hashing and comparison run without the lock.
      let (candidates, version) = store.table.withLock { ($0.candidates(hash), $0.version) }
      let found = candidates.first { $0.key as? Key == key }
      if let found, store.isUsable(found) {
        if store.table.withLock({ $0.join(found) }) { return (found, false) }
        continue
      }
      if store.insert(fresh, replacing: found, version: version) { return (fresh, true) }
    }
  }
}

extension RequestCoalescer where Key: Hashable {
  /// Returns the value for `key`; runs `operation` unless its work is in progress or its value is
  /// cached.
  ///
  /// ```swift
  /// let user = try await users.value(for: id) { try await fetchUser(id) }
  /// ```
  ///
  /// Cancelling the calling task ends the wait immediately with `CancellationError`; the operation
  /// is cancelled when no other caller waits for it.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  public func value(
    for key: Key, isolation: isolated (any Actor)? = #isolation,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) async throws -> Value {
    let promise: Promise<Value> = promise(for: key, operation)
    return try await promise.value
  }
}
