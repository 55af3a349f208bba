/// A loader that collects the keys that are requested within a short time, and loads their values
/// with one call ("batching").
///
/// ```swift
/// let users = DataLoader<Int, User> { ids in
///   try await database.users(withIDs: ids).mapValues { .success($0) }
/// }
/// let author = users.promise(for: post.authorID)
/// ```
///
/// A batch starts `delay` after its first key was requested, or as soon as it has `maxBatchSize`
/// keys. Requests for a key whose value is being loaded share it, and values can be cached, as in a
/// ``RequestCoalescer``.
///
/// Each caller can cancel independently. When all callers for a key have cancelled, the key is
/// removed from a batch that hasn't started; when that is so for all keys of a batch in progress, its
/// task is cancelled.
///
/// **Errors.** If the batch function throws, all requests of the batch fail with its error.
/// Otherwise, each key has its own result, and a key without a result fails with
/// ``BatchMismatchError``.
///
/// When the loader is deallocated, waiting keys are loaded immediately.
public final class DataLoader<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package let requests: RequestCoalescer<Key, Value>
  private let batches: LoaderBatches<Key, Value>
  package var monitors: Monitors<LoaderEvent> { _read { yield batches.monitors } }

  /// Creates a loader.
  ///
  /// With a `maxBatchSize` of less than one, each request is rejected with
  /// ``PromiseError/invalidArgument(_:)``.
  ///
  /// **Execution.** `load` runs in its own task for each batch, in the isolation in which it was
  /// written, without the task-local values of callers, because a batch has several. Batches can be
  /// in progress at the same time; to limit them, use a ``Limiter`` inside `load`.
  ///
  /// - Parameters:
  ///   - maxBatchSize: The maximum number of keys in a batch; nil for no limit.
  ///   - delay: The time that a batch waits for further keys. With zero or less, a batch waits for
  ///     the end of the current turn: until the actor, the queue, or the event loop that requested its
  ///     first key has run what it was given before. Elsewhere, and in a handler on a
  ///     ``PromiseExecutor`` of your own, it starts on a thread of the pool as soon as there is one. A
  ///     batch with an infinite delay starts only when it is full.
  ///   - caching: Whether, and for how long, to cache values; nil for no cache.
  ///   - clock: The clock of the delay and of the cache.
  ///   - load: The batch function. It receives each key once, in the order of the requests, and
  ///     returns a result for each.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public convenience init(
    maxBatchSize: Int? = nil, delay: Duration = .milliseconds(1),
    caching: CoalescerCaching? = nil, clock: any Clock<Duration> = ContinuousClock(),
    @_inheritActorContext _ load:
      @escaping @Sendable @isolated(any) ([Key]) async throws -> [Key: Result<Value, any Error>]
  ) {
    self.init(
      RequestCoalescer(caching: caching, clock: clock), maxBatchSize, TimeSpan(delay),
      TimeSource(clock), load)
  }

  init(
    _ requests: RequestCoalescer<Key, Value>, _ maximum: Int?, _ delay: TimeSpan,
    _ time: TimeSource,
    _ load: @escaping LoaderBatches<Key, Value>.Load
  ) {
    self.requests = requests
    batches = LoaderBatches(maximum, delay, time, load)
  }

  deinit { batches.startWaiting() }

  /// Returns a promise for the value for `key`, which a batch loads unless it is being loaded or is
  /// cached.
  ///
  /// If the batch function, or a task that it starts, requests a key of its own batch, that request
  /// is rejected with ``PromiseError/returnedItself``, because the batch would wait for itself. If
  /// two loaders wait for each other's batches, this isn't always detected.
  ///
  /// - Parameters:
  ///   - key: The key that the batch function receives.
  ///   - isolation: The isolation whose turn a batch without a delay waits for. A closure in a method
  ///     of an actor has that isolation only if it uses the actor; pass `self` otherwise.
  public func promise(
    for key: Key, isolation: (any Actor)? = #isolation
  ) -> Promise<Value> {
    if batches.isLoading(key) { return .rejected(PromiseError.returnedItself) }
    return requests.promise(for: key) { batches.promise(for: key, in: isolation) }
  }

  /// Returns the value for `key`, which a batch loads unless it is being loaded or is cached.
  ///
  /// Cancelling the calling task ends the wait immediately with `CancellationError`. Otherwise, this
  /// is the same as ``promise(for:isolation:)``.
  nonisolated(nonsending) public func value(for key: Key) async throws -> Value {
    try await promise(for: key, isolation: #isolation).waitForSettlement {}.get()
  }

  /// Removes the cached value for `key`; a batch in progress continues for its callers.
  public func removeValue(for key: Key) { requests.removeValue(for: key) }

  /// Removes all cached values; batches in progress continue for their callers.
  public func removeAll() { requests.removeAll() }
}

/// The error of a request in a batch whose results don't match its keys.
///
/// A key for which the batch function returned no result fails with this error; the other keys get
/// their results. If the batch function returned results for keys that weren't in the batch, all its
/// requests fail, because the results can't be trusted.
public struct BatchMismatchError: Error, Sendable, CustomStringConvertible {
  /// The keys of the batch for which the batch function returned no result.
  public let missingKeys: [any Hashable & Sendable]
  /// The keys for which the batch function returned a result although they weren't in the batch.
  public let unexpectedKeys: [any Hashable & Sendable]

  /// A description that names the keys, at most ten of each kind.
  public var description: String {
    let problems = [
      missingKeys.isEmpty ? nil : "no result for \(Self.list(missingKeys))",
      unexpectedKeys.isEmpty
        ? nil : "results for \(Self.list(unexpectedKeys)), which it wasn't asked for",
    ]
    return "The batch function returned \(problems.compactMap(\.self).joined(separator: ", and "))."
  }

  private static func list(_ keys: [any Hashable & Sendable]) -> String {
    let names = keys.prefix(10).map { key in
      if let text = key as? String { return text.debugDescription }
      return "\(key)"
    }
    let rest = keys.count > 10 ? ", and \(keys.count - 10) more" : ""
    return (keys.count == 1 ? "the key " : "\(keys.count) keys: ")
      + names.joined(separator: ", ") + rest
  }
}
