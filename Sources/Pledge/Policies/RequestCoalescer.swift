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
  @usableFromInline typealias Entry = KeyedEntry<Key, Value?>

  @usableFromInline let store: CoalescerStore
  package var monitors: Monitors<CoalescerEvent> { _read { yield store.monitors } }

  /// Creates a coalescer.
  ///
  /// - Parameters:
  ///   - caching: Whether, and for how long, to cache values; nil for no cache.
  ///   - clock: The clock of the lifetimes.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(caching: CoalescerCaching? = nil, clock: any Clock<Duration>) {
    store = CoalescerStore(caching: caching, TimeSource(clock))
  }

  /// Creates a coalescer; see ``init(caching:clock:)``.
  public init(caching: CoalescerCaching? = nil) {
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
  /// If the work requests its own key, that request is rejected with ``PromiseError/returnedItself``,
  /// because the work would wait for itself. The work is `start`, the handlers on which the promise
  /// that it returned depends, and the tasks that `start` starts. In these handlers, a request for
  /// the key of another work that waits for this one is rejected, too. Work that waits for itself in
  /// another way, as in a handler inside a task, is its own caller: it stays pending, and its key in
  /// use, until it cancels that request, for example by a timeout.
  ///
  /// **Errors.** Those of the work, `CancellationError`, and ``PromiseError/returnedItself``.
  ///
  /// **Execution.** `start` runs inside this call.
  @inlinable
  public func promise(for key: Key, _ start: () throws -> Promise<Value>) -> Promise<Value> {
    var own: Cell?
    let (role, entry) = request(key, leading: false, &own)
    let promise = Promise<Value>(cell: own.unsafelyUnwrapped)
    switch role {
    case .starting:
      store.prepare(entry, entry.cell)
      let started = entry.work.start { Promise<Value>.attempted { try start() } }
      let cell = entry.cell
      store.finish(entry, after: started.cell) { cell.copy(from: $0, as: Value.self) }
    case .refreshing: refresh(entry, start)
    case .joining:
      if waitsForItself(entry, promise) { return .rejected(PromiseError.returnedItself) }
    }
    return promise
  }

  /// Returns a promise for the value for `key`; runs `operation` unless its work is in progress or
  /// its value is cached.
  ///
  /// When all callers have cancelled, the task of `operation` is cancelled. Otherwise, this is the
  /// same as ``promise(for:_:)``.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @inlinable @_disfavoredOverload
  public func promise(
    for key: Key,
    @_inheritActorContext @_implicitSelfCapture _ operation:
      sending @escaping @isolated(any) () async throws -> sending Value
  ) -> Promise<Value> {
    let operation = AsyncOperation(operation)
    return promise(for: key) { .running(operation) }
  }

  /// Removes the value for `key`; work in progress continues for its callers.
  public func removeValue(for key: Key) {
    let hash = key.hashValue
    let bucket = store.table.withLock { $0.bucket(hash) }
    let entry = bucket?.first { unsafeDowncast($0, to: Entry.self).key == key }
    if let entry { store.remove(entry) }
  }

  /// Returns how a request is served, and by which entry; `cell` becomes the cell of the caller's own
  /// promise, unless the caller is the lead of the entry.
  @inlinable
  func request(
    _ key: Key, leading: Bool, _ cell: inout Cell?
  ) -> (CoalescerStore.Role, Entry) {
    let hash = key.hashValue
    let (role, entry) = store.request(
      hash: hash, { unsafeDowncast($0, to: Entry.self).key == key },
      share: { Promise<Value>(cell: $0).newConsumer().cell }, newCell: { Root<Value>() },
      make: {
        if leading { return (Entry(key: key, hash: hash, nil), nil) }
        let cell = Root<Value>()
        cell.noteCreation(SourceLocation(fileID: #fileID, line: #line))
        return (Entry(key: key, hash: hash, cell), Promise<Value>(cell: cell).newConsumer().cell)
      }, &cell)
    return (role, unsafeDowncast(entry, to: Entry.self))
  }

  /// Starts work that replaces the stale value of `old`, unless such work is already in progress.
  @inlinable
  func refresh(_ old: Entry, _ start: () throws -> Promise<Value>) {
    let fresh = old.beginRefresh {
      let cell = Root<Value>()
      // The work continues without callers.
      cell.keep()
      return Entry(key: old.key, hash: old.hash, cell)
    }
    guard let fresh else { return }
    let work = fresh.work.start { Promise<Value>.attempted { try start() } }
    let cell = fresh.cell
    store.finish(fresh, replacing: old, after: work.cell) { cell.copy(from: $0, as: Value.self) }
  }

  /// Returns whether the caller of `promise` is a part of the work that it would wait for; it then
  /// doesn't wait.
  @inlinable
  func waitsForItself(_ entry: Entry, _ promise: Promise<Value>) -> Bool {
    guard entry.isWorkCurrent else { return false }
    promise.cancel()
    return true
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
  /// is cancelled, or doesn't start, when no other caller waits for it.
  ///
  /// **Errors.** Those of the operation, `CancellationError`, and ``PromiseError/returnedItself``.
  ///
  /// **Execution.** `operation` runs in its own task, because it is shared, in the isolation in which
  /// it was written. If that allows it, it starts on this thread, and this call doesn't return before
  /// the operation suspends for the first time.
  @inlinable
  nonisolated(nonsending) public func value(
    for key: Key,
    @_inheritActorContext @_implicitSelfCapture _ operation:
      sending @escaping @isolated(any) () async throws -> sending Value
  ) async throws -> Value {
    let operation = AsyncOperation(operation)
    var cell: Cell?
    let (role, entry) = request(key, leading: true, &cell)
    guard let cell else {
      let (store, lead): (CoalescerStore, CoalescerEntry) = (store, entry)
      let hasResult = try await withTaskCancellationHandler {
        store.begin(entry, operation)
        if entry.hasResult { return true }
        try await withUnsafeThrowingContinuation { continuation in
          if !entry.wait(continuation) { continuation.resume() }
        }
        return entry.hasResult
      } onCancel: {
        store.cancelLead(of: lead)
      }
      if hasResult, let value = entry.value { return value }
      throw hasResult ? entry.error ?? CancellationError() : CancellationError()
    }
    let promise = Promise<Value>(cell: cell)
    switch role {
    case .refreshing: refresh(entry) { .running(operation) }
    case .starting, .joining:
      if waitsForItself(entry, promise) { throw PromiseError.returnedItself }
    }
    return try await promise.value
  }
}
