extension Promise {
  /// Calls `operation` until its promise is fulfilled, according to `policy`.
  ///
  /// Cancelling the returned promise cancels the attempt or the current delay.
  ///
  /// **Errors.** As for the function `retry(_:clock:_:)`. An attempt that exceeds a time limit of the
  /// policy fails with ``TimeoutError``.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written, the first attempt
  /// soon after this call.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func retry(
    _ policy: RetryPolicy, clock: any Clock<Duration>,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    retried(policy, TimeSource(clock), Placed(operation))
  }

  /// The same as ``retry(_:clock:_:)``, with `operation` on `executor`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @inlinable @_disfavoredOverload
  public static func retry(
    on executor: some PromiseExecutor, _ policy: RetryPolicy,
    clock: any Clock<Duration>,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    retried(policy, TimeSource(clock), Placed(operation, on: executor))
  }

  /// Calls an asynchronous `operation` until it returns, according to `policy`.
  ///
  /// Cancelling the returned promise rejects it immediately and cancels the task of the attempts.
  /// Otherwise, the same as the function `retry(_:clock:_:)`.
  ///
  /// **Execution.** The attempts run in a new task, in the isolation in which `operation` was
  /// written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func retry(
    _ policy: RetryPolicy, clock: any Clock<Duration>,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    retried(policy, TimeSource(clock), operation)
  }

  static func retried(
    _ policy: RetryPolicy, _ time: TimeSource,
    _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    let operation = IsolatedOperation(operation)
    let promise = Promise(calling: operation) {
      try await Pledge.retry(policy, time) { try await operation() }
    }
    promise.cell.noteAwaiting(.policies)
    return promise
  }

  @inlinable
  static func retried(
    _ policy: RetryPolicy, _ time: TimeSource, _ operation: Placed<@Sendable () throws -> Promise>
  ) -> Promise {
    if let error = policy.invalidity { return .rejected(error) }
    let run = RetryRun(policy: policy, time: time, operation: operation.kept())
    return run.attempt(RetryProgress(policy, time))
  }
}

/// One call of `retry`, specialized in its caller.
@_fixed_layout @usableFromInline
final class RetryRun<Value: Sendable>: Sendable {
  @usableFromInline let policy: RetryPolicy
  @usableFromInline let time: TimeSource
  @usableFromInline let operation: Placed<@Sendable () throws -> Promise<Value>>

  @inlinable
  init(
    policy: RetryPolicy, time: TimeSource, operation: Placed<@Sendable () throws -> Promise<Value>>
  ) {
    self.policy = policy
    self.time = time
    self.operation = operation
  }

  /// Starts an attempt, and returns a promise for the result of the last attempt.
  @inlinable
  func attempt(_ progress: RetryProgress) -> Promise<Value> {
    var current = Promise<Void>.value(()).chained(operation.ignoringVoid())
    if let limit = progress.limit(policy) {
      current = current.timeout(limit.span, time, naming: limit.named)
    }
    return Promise(
      cell: current.cell.derive(
        Value.self, policy.budget == nil ? .error : .result,
        body: ErasedClosure({ self.next(after: $0, progress) } as Next)
      ) { handler, source in
        // Without a budget, a value needs no closure, and the engine has released it.
        guard
          handler.body != nil,
          let promise = handler.takeBody(as: Next.self)(source.rejection?.error)
        else {
          // The same rejection, which knows where it comes from.
          return handler.copyResult(of: source, as: Value.self)
        }
        source.rejection?.markHandled()
        handler.adopt(promise.cell, as: Value.self)
      })
  }

  @usableFromInline typealias Next = @Sendable ((any Error)?) -> Promise<Value>?

  /// Returns a promise for the attempts that follow one that ended with `error`, or succeeded if
  /// that is nil; returns nil if none follows.
  @inlinable
  func next(after error: (any Error)?, _ progress: RetryProgress) -> Promise<Value>? {
    guard let error else {
      policy.budget?.deposit()
      return nil
    }
    var progress = progress
    guard let delay = progress.delay(after: error, policy) else { return nil }
    return progress.pause(delay, policy, time)
      .chained(.inPlace { [self, progress] _ in attempt(progress) })
  }
}

extension RetryProgress {
  /// Returns a promise for the end of the delay before the next attempt.
  @usableFromInline
  func pause(_ delay: TimeSpan, _ policy: RetryPolicy, _ time: TimeSource) -> Promise<Void> {
    let end = ResultAction<Void> { result in
      switch result {
      case .success: policy.note(.retried)
      case .failure:
        // The delay was cancelled, so there will be no attempt.
        var progress = self
        progress.putBack(policy)
      }
    }
    // Without a delay, attempts in place would follow each other without returning to the caller.
    return Promise<Void>.after(delay, time)
      .tapped(Placed(end, at: delay > .zero ? .inPlace : .global))
  }
}

/// Calls `operation` until it succeeds, as often as `policy` allows, and returns its result.
///
/// ```swift
/// let user = try await retry(.exponential(attempts: 3, from: .milliseconds(100))) {
///   try await fetchUser(id: 7)
/// }
/// ```
///
/// **Errors.** That of the last attempt, if no attempts are left, that error isn't retryable, the
/// policy's budget is used up, or the next attempt would start after its deadline. If the policy
/// allows less than one attempt, ``PromiseError/invalidArgument(_:)``.
///
/// **Cancellation.** Cancelling the calling task cancels the attempt, after which no other follows.
/// During a delay, this call throws `CancellationError` immediately.
///
/// **Time limits.** An attempt that exceeds a time limit of the policy is cancelled. When it has
/// ended, it counts as failed with ``TimeoutError``, unless it returned a value.
///
/// **Execution.** `operation` runs in the calling task and in the caller's isolation. With a time
/// limit, each attempt has its own task, and the caller waits for its end.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
@inlinable
nonisolated(nonsending) public func retry<Value>(
  _ policy: RetryPolicy, clock: any Clock<Duration>,
  _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Value {
  var failure: (any Error)?
  if policy.isOnlyAskedAfterFailures {
    do { return try await operation() } catch { failure = error }
  }
  return try await retry(policy, TimeSource(clock), after: failure, operation)
}

/// Calls `operation` until it succeeds, after a first attempt that failed with `failure`, if any.
///
/// The public functions make the first attempt, so that it costs what a call does.
@usableFromInline
nonisolated(nonsending) func retry<Value>(
  _ policy: RetryPolicy, _ time: TimeSource, after failure: (any Error)? = nil,
  _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Value {
  if let error = policy.invalidity { throw error }
  var progress = RetryProgress(policy, time)
  if let failure { try await progress.pause(after: failure, policy, time) }
  while true {
    do {
      let value = try await progress.attempt(policy, time, operation)
      policy.budget?.deposit()
      return value
    } catch {
      try await progress.pause(after: error, policy, time)
    }
  }
}

extension RetryPolicy {
  /// Whether an attempt that succeeds has nothing to do with the policy.
  @inlinable
  var isOnlyAskedAfterFailures: Bool {
    attempts >= 1 && attemptTime == nil && totalTime == nil && budget == nil
  }
}

extension RetryProgress {
  /// Runs an attempt within the time that it may take.
  nonisolated(nonsending) func attempt<Value>(
    _ policy: RetryPolicy, _ time: TimeSource,
    _ operation: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    guard let limit = limit(policy) else { return try await operation() }
    return try await withOwnTask(limit: limit, time, isolation: #isolation, operation)
  }

  /// Waits for the delay before the next attempt; throws `error` if there is none.
  nonisolated(nonsending) mutating func pause(
    after error: any Error, _ policy: RetryPolicy, _ time: TimeSource
  ) async throws {
    // A cancelled operation can fail with any error.
    if Task.isCancelled { throw error }
    guard let delay = delay(after: error, policy) else { throw error }
    do {
      try await Promise<Void>.after(delay, time).value
      try Task.checkCancellation()
    } catch {
      putBack(policy)
      throw error
    }
    policy.note(.retried)
  }
}
