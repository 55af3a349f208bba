extension Promise {
  /// Calls `operation` until its promise is fulfilled, according to `policy`.
  ///
  /// The returned promise is rejected with a ``RetryError`` that contains the errors of all
  /// attempts if no attempts are left, the last error isn't retryable, the policy's budget is used
  /// up, or its deadline has passed. If the policy allows less than one attempt, the promise is
  /// rejected with ``PromiseError/invalidArgument(_:)``. Cancelling it cancels the attempt or the
  /// current delay.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written, the first attempt
  /// soon after this call.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func retry(
    _ policy: RetryPolicy, clock: any Clock<Duration>,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    retried(
      policy, TimeSource(clock), HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise).self))
  }

  /// Calls `operation` until its promise is fulfilled, according to `policy`.
  ///
  /// See ``retry(_:clock:_:)``.
  ///
  /// **Execution.** `operation` runs on `executor`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func retry(
    on executor: some PromiseExecutor, _ policy: RetryPolicy,
    clock: any Clock<Duration>,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    retried(policy, TimeSource(clock), HandlerTarget(executor), operation)
  }

  /// Calls `operation`, on the main actor, until its promise is fulfilled, according to `policy`.
  ///
  /// See ``retry(_:clock:_:)``.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func retry(
    on executor: MainExecutor, _ policy: RetryPolicy,
    clock: any Clock<Duration>,
    _ operation: @escaping @MainActor @Sendable () throws -> Promise
  ) -> Promise { retry(policy, clock: clock, operation) }

  /// Calls an asynchronous `operation` until it returns, according to `policy`.
  ///
  /// Cancelling the returned promise rejects it immediately and cancels the task of the attempt.
  /// Otherwise, the same as ``retry(_:clock:_:)``.
  ///
  /// **Execution.** Each attempt runs in its own task, in the isolation in which `operation` was
  /// written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func retry(
    _ policy: RetryPolicy, clock: any Clock<Duration>,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    retried(
      policy, TimeSource(clock), HandlerTarget(immediate: ()), startingInheritingTasks(operation))
  }

  static func retried(
    _ policy: RetryPolicy, _ time: TimeSource, _ target: HandlerTarget,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    guard policy.attempts >= 1 else {
      return .rejected(
        PromiseError.invalidArgument(
          "retry needs at least one attempt, not \(policy.attempts)."))
    }
    let run = RetryRun(
      policy: policy, time: time, target: target, operation: target.keeping(operation))
    let result = run.attempt().depositing(in: policy.budget)
    guard let deadline = policy.totalTime else { return result }
    return result.timeout(deadline, time)
      .recoveredWithPromise(HandlerTarget(immediate: ()), when: { $0 is TimeoutError }) { error in
        // The error of the deadline: that of an attempt's timeout is inside a `RetryError`.
        throw run.end(with: [error])
      }
  }
}

/// The attempts of one call of `retry`.
private final class RetryRun<Value: Sendable>: Sendable {
  private let policy: RetryPolicy
  private let time: TimeSource
  private let target: HandlerTarget
  private let operation: @Sendable () throws -> Promise<Value>
  private let state = Mutex(State())

  private struct State {
    /// The errors of all attempts so far.
    ///
    /// They're stored in one place, because a copy for each attempt would take quadratic time.
    var errors: [any Error] = []
    var hasGivenUp = false
  }

  init(
    policy: RetryPolicy, time: TimeSource, target: HandlerTarget,
    operation: @escaping @Sendable () throws -> Promise<Value>
  ) {
    self.policy = policy
    self.time = time
    self.target = target
    self.operation = operation
  }

  /// Returns the error of an operation that has failed permanently, and notes that, once: the
  /// deadline can pass while the last attempt fails.
  ///
  /// - Parameter lastErrors: The errors that follow those of the attempts.
  func end(with lastErrors: [any Error] = []) -> RetryError {
    let (errors, isFirst) = state.withLock { state in
      (state.errors, !exchange(&state.hasGivenUp, with: true))
    }
    if isFirst { note(.gaveUp) }
    return RetryError(errors: errors + lastErrors)
  }

  private func note(_ event: PolicyEvent) {
    if let monitor = policy.monitor {
      SharedThread.runUserCode { monitor(event) }
    } else {
      Monitoring.policies.note(event)
    }
  }

  private func pause(_ delay: TimeSpan) -> Promise<Void> {
    let end = Promise<Void>.after(delay, time)
    guard let budget = policy.budget else { return end }
    return end.tapped(HandlerTarget(immediate: ())) { result in
      // The delay was cancelled, so there will be no attempt.
      if case .failure = result { budget.putBack() }
    }
  }

  func attempt(isFirst: Bool = true) -> Promise<Value> {
    var current = Promise<Void>.value(()).chained(target) { [self] in
      if !isFirst { note(.retried) }
      return try operation()
    }
    if let timeout = policy.attemptTime {
      current = current.timeout(timeout, time)
    }
    // The policy's closures are user code, which must not run on a shared thread.
    return current.recoveredWithPromise(HandlerTarget(programInPlace: ())) { [self] error in
      if error is CancellationError { throw error }
      let count = state.withLock { state in
        state.errors.append(error)
        return state.errors.count
      }
      guard count < policy.attempts, policy.isRetryable(error), policy.budget?.withdraw() ?? true
      else { throw end() }
      let delay = policy.pause(after: error, attemptsMade: count)
      return pause(delay).chained(HandlerTarget(immediate: ())) { [self] in
        attempt(isFirst: false)
      }
    }
  }
}

extension Promise {
  /// Returns a promise with the same result that adds the tokens of a success to `budget`, if any.
  func depositing(in budget: RetryBudget?) -> Promise {
    guard let budget else { return self }
    return mapped(HandlerTarget(immediate: ())) { value in
      budget.deposit()
      return value
    }
  }
}
