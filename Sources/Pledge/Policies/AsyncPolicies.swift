// The policies as `async` functions. Each runs its operation in a separate task, so that it can
// return on time even if the operation doesn't respond to cancellation.

/// Calls `operation` until it succeeds, as often as `policy` allows, and returns its result.
///
/// ```swift
/// let user = try await retry(.exponential(attempts: 3, from: .milliseconds(100))) {
///   try await fetchUser(id: 7)
/// }
/// ```
///
/// Throws ``RetryError`` with the errors of all attempts when no attempts are left or the policy's
/// deadline has passed. Cancelling the calling task cancels the attempt, and throws
/// `CancellationError` immediately.
///
/// **Execution.** `operation` runs in the isolation in which it was written.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func retry<Value: Sendable>(
  _ policy: RetryPolicy, clock: any Clock<Duration>,
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise.retry(policy, clock: clock, operation).value
}

/// Returns the result of `operation`, or throws ``TimeoutError`` if it takes longer than
/// `duration`.
///
/// ```swift
/// let page = try await withTimeout(.seconds(30)) { try await download(url) }
/// ```
///
/// At the timeout, or when the calling task is cancelled, the operation's task is cancelled and
/// this call throws immediately, even if the operation ignores cancellation and continues.
///
/// **Execution.** `operation` runs in the isolation in which it was written.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func withTimeout<Value: Sendable>(
  _ duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise(priority: nil, operation).timeout(after: duration, clock: clock).value
}

/// Returns the result of `operation`, or throws ``TimeoutError`` if it hasn't returned by
/// `deadline`.
///
/// See ``withTimeout(_:clock:_:)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func withDeadline<Value: Sendable, C: Clock<Duration>>(
  _ deadline: C.Instant, clock: C,
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise(priority: nil, operation).deadline(deadline, clock: clock).value
}

/// Returns the result of `operation`, or throws ``TimeoutError`` if it hasn't returned by
/// `deadline`.
///
/// See ``withTimeout(_:clock:_:)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func withDeadline<Value: Sendable>(
  _ deadline: ContinuousClock.Instant,
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await withDeadline(deadline, clock: ContinuousClock(), operation)
}

/// Acquires a resource, calls `body` with it, and releases it, whether `body` succeeds or fails.
///
/// ```swift
/// try await withResource(acquire: pool.connect, release: { await $0.close() }) { connection in
///   try await connection.query("…")
/// }
/// ```
///
/// `release` runs exactly once for an acquired resource, when `body` has ended, and this call waits
/// for it. If the calling task is cancelled, this call throws `CancellationError` immediately, and
/// a resource that is acquired afterward is released.
///
/// **Execution.** Each closure runs in its own task, in the isolation in which it was written.
public func withResource<Resource: Sendable, Value: Sendable>(
  @_inheritActorContext acquire: @escaping @Sendable @isolated(any) () async throws -> Resource,
  @_inheritActorContext release: @escaping @Sendable @isolated(any) (Resource) async throws -> Void,
  @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Resource) async throws -> Value
) async throws -> Value {
  try await Promise.using(acquire: acquire, release: release, body).value
}

/// Calls `transform` for each of `elements`, with at most `limit` calls in progress at a time, and
/// returns the results in order.
///
/// ```swift
/// let pages = try await concurrentMap(urls, limit: 4) { url in try await download(url) }
/// ```
///
/// The first error, or the cancellation of the calling task, cancels the calls in progress and is
/// thrown immediately. No further elements are taken.
///
/// **Execution.** Each call runs in its own task, in the isolation in which `transform` was
/// written.
public func concurrentMap<S: Sequence & Sendable, Value: Sendable>(
  _ elements: S, limit: Int,
  @_inheritActorContext _ transform:
    @escaping @Sendable @isolated(any) (S.Element) async throws -> Value
) async throws -> [Value] where S.Element: Sendable {
  try await Promise.all(elements, concurrently: limit, cancellingRest: true, transform).value
}

/// Starts all `operations` concurrently and returns the first result, or throws the first error.
///
/// The other operations are cancelled. Without operations, this throws ``PromiseError/emptyInput``.
///
/// ```swift
/// let page = try await firstToFinish({ try await cache.load(url) }, { try await download(url) })
/// ```
///
/// **Execution.** Each operation runs in its own task. Unlike other closures, it doesn't inherit an
/// isolation: for the main actor, write `{ @MainActor in … }`.
public func firstToFinish<Value: Sendable>(
  _ operations: (@Sendable () async throws -> Value)...
) async throws -> Value {
  try await Promise.race(operations.map { operation in Promise { try await operation() } }).value
}

/// Starts all `operations` concurrently and returns the first result; throws only if all of them
/// throw.
///
/// The other operations are cancelled. If all throw, the error is an ``AggregateError``. Without
/// operations, this throws ``PromiseError/emptyInput``.
///
/// **Execution.** Each operation runs in its own task. Unlike other closures, it doesn't inherit an
/// isolation: for the main actor, write `{ @MainActor in … }`.
public func firstToSucceed<Value: Sendable>(
  _ operations: (@Sendable () async throws -> Value)...
) async throws -> Value {
  try await Promise.any(operations.map { operation in Promise { try await operation() } }).value
}
