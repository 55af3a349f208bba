// Policies as `async` functions that run several operations at a time, or return before an
// operation has ended. Each operation runs in a child task, except in those that return early.

/// Returns the result of `operation`, or throws ``TimeoutError`` if it takes longer than
/// `duration`.
///
/// ```swift
/// let page = try await withTimeout(.seconds(30)) { try await download(url) }
/// ```
///
/// At the timeout, or when the calling task is cancelled, the operation's task is cancelled and
/// this call throws immediately, even if the operation ignores cancellation and continues. If it
/// must have ended, use ``retry(_:clock:_:)`` with one attempt and an attempt timeout.
///
/// **Errors.** The operation's own, ``TimeoutError``, and `CancellationError`.
///
/// **Execution.** `operation` runs in its own task, in the isolation in which it was written, with
/// the caller's priority and task-local values.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@inlinable
nonisolated(nonsending) public func withTimeout<Value>(
  _ duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Value
) async throws -> sending Value {
  try await limited(TimeSpan(duration), TimeSource(clock), AsyncOperation(operation)).value
}

/// Returns the result of `operation`, or throws ``TimeoutError`` if it hasn't returned by
/// `deadline`; see ``withTimeout(_:clock:_:)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@inlinable
nonisolated(nonsending) public func withDeadline<Value, C: Clock<Duration>>(
  _ deadline: C.Instant, clock: C,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Value
) async throws -> sending Value {
  try await withTimeout(clock.now.duration(to: deadline), clock: clock, operation)
}

/// The same as ``withDeadline(_:clock:_:)``, on the continuous clock.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@inlinable
nonisolated(nonsending) public func withDeadline<Value>(
  _ deadline: ContinuousClock.Instant,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Value
) async throws -> sending Value {
  try await withDeadline(deadline, clock: ContinuousClock(), operation)
}

// Without these forms, the compiler infers an optional value for a closure without one under `try?`, and
// can't convert a closure that is isolated to an actor.

/// The same as ``withTimeout(_:clock:_:)``, for an operation without a value.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
nonisolated(nonsending) public func withTimeout(
  _ duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Void
) async throws {
  _ = try await limited(TimeSpan(duration), TimeSource(clock), AsyncOperation(operation))
}

/// The same as ``withDeadline(_:clock:_:)``, on the continuous clock, for an operation without a value.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
nonisolated(nonsending) public func withDeadline(
  _ deadline: ContinuousClock.Instant,
  @_inheritActorContext @_implicitSelfCapture _ operation:
    sending @escaping @isolated(any) () async throws -> sending Void
) async throws {
  try await withTimeout(ContinuousClock.now.duration(to: deadline), operation)
}

/// Acquires a resource, calls `body` with it, and releases it, whether `body` succeeds or fails.
///
/// ```swift
/// try await withResource(acquire: pool.connect, release: { await $0.close() }) { connection in
///   try await connection.query("…")
/// }
/// ```
///
/// `release` runs exactly once for an acquired resource, when `body` has ended. Cancelling the
/// calling task cancels `acquire` and `body`, but not `release`.
///
/// **Errors.** Those of the closures. If both `body` and `release` throw, that of `body`.
///
/// **Execution.** The closures run in the caller's isolation, `acquire` and `body` in the calling
/// task.
nonisolated(nonsending) public func withResource<Resource, Value, Failure: Error>(
  acquire: nonisolated(nonsending) () async throws(Failure) -> Resource,
  release: nonisolated(nonsending) (Resource) async throws(Failure) -> Void,
  _ body: nonisolated(nonsending) (Resource) async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let resource = try await acquire()
  let result: Result<Value, Failure>
  do {
    result = .success(try await body(resource))
  } catch {
    result = .failure(error)
  }
  let end = await withoutCancellation(isolation: #isolation) { () -> Result<Void, Failure> in
    do throws(Failure) {
      return .success(try await release(resource))
    } catch {
      return .failure(error)
    }
  }
  let value = try result.get()
  try end.get()
  return value
}

/// Calls `transform` for each of `elements`, with at most `limit` calls in progress at a time, and
/// returns the results in order.
///
/// ```swift
/// let pages = try await concurrentMap(urls, limit: 4) { url in try await download(url) }
/// ```
///
/// The first error cancels the calls in progress, and is thrown when they have ended. After it, and
/// after the cancellation of the calling task, no further elements are taken.
///
/// **Errors.** The first error of `transform`, and `CancellationError`. If `limit` is less than one,
/// ``PromiseError/invalidArgument(_:)``.
///
/// **Execution.** Each call runs in a child task, in the isolation in which `transform` was written;
/// the iterator of `elements` runs in the caller's task.
@inlinable
nonisolated(nonsending) public func concurrentMap<S: Sequence, Value>(
  _ elements: S, limit: Int,
  @_inheritActorContext @_implicitSelfCapture _ transform:
    @escaping @Sendable (S.Element) async throws -> sending Value
) async throws -> [Value] where S.Element: Sendable {
  guard limit >= 1 else {
    throw PromiseError.invalidArgument("`limit` must be at least 1, not \(limit).")
  }
  var values: [Value?] = []
  values.reserveCapacity(elements.underestimatedCount)
  try await withThrowingTaskGroup(of: (Int, Moved<Value>).self) { group in
    for element in elements {
      // With the first `limit` calls in progress, each result makes room for another one.
      if values.count >= limit, let (index, value) = try await group.next() {
        values[index] = value.value
      }
      try Task.checkCancellation()
      let index = values.count
      values.append(nil)
      group.addTask { (index, Moved(try await transform(element))) }
    }
    while let (index, value) = try await group.next() { values[index] = value.value }
  }
  return values.map { $0.unsafelyUnwrapped }
}

/// Starts both operations concurrently and returns the first result, or throws the first error.
///
/// The other operation is cancelled, and this call returns when it has ended. If it can ignore
/// cancellation, use `Promise.race`, which doesn't wait.
///
/// ```swift
/// let page = try await firstToFinish({ try await cache.load(url) }, { try await download(url) })
/// ```
///
/// **Errors.** That of the first operation to end, if it fails.
///
/// **Execution.** Each operation runs in a child task, in the isolation in which it was written.
@inlinable
nonisolated(nonsending) public func firstToFinish<Value, Failure: Error>(
  @_inheritActorContext @_implicitSelfCapture _ first:
    @escaping @Sendable () async throws(Failure) -> sending Value,
  @_inheritActorContext @_implicitSelfCapture _ second:
    @escaping @Sendable () async throws(Failure) -> sending Value
) async throws(Failure) -> Value {
  let result = await withTaskGroup(of: Result<Moved<Value>, Failure>.self) { group in
    group.addTask { await movedResult(of: first) }
    group.addTask { await movedResult(of: second) }
    let result = await group.next().unsafelyUnwrapped
    group.cancelAll()
    return result
  }
  return try result.get().value
}

/// Starts all operations concurrently and returns the first result, or throws the first error.
///
/// See ``firstToFinish(_:_:)``. The third operation and the following ones inherit no isolation: for
/// the main actor, write `{ @MainActor in … }`.
nonisolated(nonsending) public func firstToFinish<Value>(
  @_inheritActorContext @_implicitSelfCapture _ first:
    @escaping @Sendable () async throws -> sending Value,
  @_inheritActorContext @_implicitSelfCapture _ second:
    @escaping @Sendable () async throws -> sending Value,
  _ third: @escaping @Sendable () async throws -> sending Value,
  _ others: (@Sendable () async throws -> sending Value)...
) async throws -> Value {
  // An array of functions with typed errors would need the runtime of macOS 15.
  try await withThrowingTaskGroup(of: Moved<Value>.self) { group in
    for operation in [first, second, third] + others {
      group.addTask { Moved(try await operation()) }
    }
    defer { group.cancelAll() }
    return try await group.next().unsafelyUnwrapped
  }.value
}

/// Starts all operations concurrently and returns the first value; throws only if all of them
/// throw.
///
/// The other operations are cancelled, and this call returns when they have ended. If they can
/// ignore cancellation, use `Promise.any`, which doesn't wait. If no operation is a single expression,
/// and the first one only throws, state the type of the value: `{ () -> Page in throw Missing() }`.
///
/// **Errors.** If all operations fail, an ``AggregateError`` with their errors in order; if all are
/// cancelled, `CancellationError`.
///
/// **Execution.** Each operation runs in a child task. The first two run in the isolation in which
/// they were written; the others inherit none: for the main actor, write `{ @MainActor in … }`.
nonisolated(nonsending) public func firstToSucceed<Value>(
  @_inheritActorContext @_implicitSelfCapture _ first:
    @escaping @Sendable () async throws -> sending Value,
  @_inheritActorContext @_implicitSelfCapture _ second:
    @escaping @Sendable () async throws -> sending Value,
  _ others: (@Sendable () async throws -> sending Value)...
) async throws -> Value {
  let result: Result<Moved<Value>, any Error> = await withTaskGroup(
    of: (Int, Result<Moved<Value>, any Error>).self
  ) { group in
    let operations = [first, second] + others
    for (index, operation) in operations.enumerated() {
      group.addTask { (index, await movedResult(of: operation)) }
    }
    var errors: [(index: Int, error: any Error)] = []
    while let (index, result) = await group.next() {
      switch result {
      case .success(let value):
        group.cancelAll()
        return .success(value)
      case .failure(let error):
        errors.append((index, error))
      }
    }
    if errors.allSatisfy({ $0.error is CancellationError }) { return .failure(CancellationError()) }
    return .failure(AggregateError(errors: errors.sorted { $0.index < $1.index }.map(\.error)))
  }
  return try result.get().value
}

/// Returns the result of `operation`, to be moved from a child task to its parent.
@inlinable
func movedResult<Value, Failure: Error>(
  of operation: @Sendable () async throws(Failure) -> sending Value
) async -> Result<Moved<Value>, Failure> {
  do {
    return .success(Moved(try await operation()))
  } catch {
    return .failure(error)
  }
}
