/// Several policies that apply to an operation together: a value that you can store and share.
///
/// ```swift
/// let users = ResiliencePipeline(
///   .retry(.exponential(attempts: 3, from: .milliseconds(100))), .limiter(limiter),
///   .circuitBreaker(breaker), .timeout(.seconds(2)))
/// let user = try await users.perform { try await fetchUser(id: 7) }
/// ```
///
/// The first policy is the outermost: here, each attempt of the retry waits for the limiter, asks the
/// breaker, and has its own timeout. Copies of a pipeline share its limiters, circuit breakers, and
/// budgets. A pipeline without policies runs the operation.
///
/// Hedging isn't a policy of a pipeline, because it requires that the operation can run several times
/// at once. Hedge a pipeline from outside: `hedged(delay: …) { try await users.perform { … } }`. For a
/// fallback, use `recover` or `catch`.
public struct ResiliencePipeline: Sendable, CustomStringConvertible {
  /// A policy of a pipeline.
  public struct Policy: Sendable {
    fileprivate enum Kind: Sendable {
      case retry(RetryPolicy)
      case timeout(TimeSpan)
      case circuitBreaker(CircuitBreaker)
      case limiter(Limiter, priority: Int)
    }

    fileprivate let kind: Kind

    /// Repeats what the following policies do, as `retry` does.
    public static func retry(_ policy: RetryPolicy) -> Policy { Policy(kind: .retry(policy)) }

    /// Cancels what the following policies do after `duration`, with ``TimeoutError``.
    ///
    /// A duration of zero or less is over immediately.
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public static func timeout(_ duration: Duration) -> Policy { timeout(TimeSpan(duration)) }

    static func timeout(_ span: TimeSpan) -> Policy { Policy(kind: .timeout(span)) }

    /// Makes the calls that follow through `breaker`.
    public static func circuitBreaker(_ breaker: CircuitBreaker) -> Policy {
      Policy(kind: .circuitBreaker(breaker))
    }

    /// Runs what follows in `limiter`, with this priority.
    public static func limiter(_ limiter: Limiter, priority: Int = 0) -> Policy {
      Policy(kind: .limiter(limiter, priority: priority))
    }
  }

  private let policies: [Policy]
  private let time: TimeSource

  /// Creates a pipeline of `policies`, the outermost first.
  public init(_ policies: Policy...) {
    self.policies = policies
    time = .continuous
  }

  /// Creates a pipeline of `policies`, the outermost first.
  ///
  /// - Parameters:
  ///   - policies: The policies.
  ///   - clock: The clock of delays and timeouts; limiters and circuit breakers have their own.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public init(_ policies: Policy..., clock: any Clock<Duration>) {
    self.policies = policies
    time = TimeSource(clock)
  }

  /// The names of the policies, the outermost first.
  public var description: String {
    let names = policies.map { policy in
      switch policy.kind {
      case .retry(let policy): "retry (\(policy.attempts) attempts)"
      case .timeout(let span): "timeout (\(span))"
      case .circuitBreaker: "circuit breaker"
      case .limiter: "limiter"
      }
    }
    return "ResiliencePipeline: \(names.isEmpty ? "no policies" : names.joined(separator: ", "))"
  }

  /// Runs `operation` under all policies.
  ///
  /// Cancelling the returned promise cancels the operation, or what a policy waits for.
  ///
  /// **Errors.** Those of `operation`, and those that the policies add: ``TimeoutError``,
  /// ``CircuitOpenError``, and ``Limiter/QueueFullError``.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  public func run<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise<T>
  ) -> Promise<T> {
    run(policies[...], SourceLocation(fileID: fileID, line: line), Placed(operation).kept())
  }

  /// The same as `run(_:)`, for a guarantee or a promise of another module.
  @_disfavoredOverload
  public func run<T: Thenable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> T
  ) -> Promise<T.Value> {
    run(
      policies[...], SourceLocation(fileID: fileID, line: line),
      Placed(operation).map { operation in { @Sendable in try operation().source } }.kept())
  }

  private func run<T: Sendable>(
    _ policies: ArraySlice<Policy>, _ origin: SourceLocation,
    _ operation: Placed<@Sendable () throws -> Promise<T>>
  ) -> Promise<T> {
    guard let first = policies.first else {
      return Promise<Void>.value(()).chained(operation.ignoringVoid())
    }
    let rest = Placed<@Sendable () throws -> Promise<T>>.inPlace {
      run(policies.dropFirst(), origin, operation)
    }
    return switch first.kind {
    case .retry(let policy): .retried(policy, time, rest)
    case .timeout(let span): run(policies.dropFirst(), origin, operation).timeout(span, time)
    case .circuitBreaker(let breaker): breaker.run(origin, rest)
    case .limiter(let limiter, let priority): limiter.submit(priority, origin, rest)
    }
  }

  /// Runs an asynchronous `operation` under all policies.
  ///
  /// Cancelling the returned promise rejects it immediately, and cancels the task of the operation.
  /// Otherwise, the same as ``perform(_:)``.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @_disfavoredOverload
  public func run<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> {
    let operation = IsolatedOperation(operation)
    let promise = Promise(calling: operation, fileID: fileID, line: line) { [self] in
      try await perform { try await operation() }
    }
    promise.cell.noteAwaiting(.policies)
    return promise
  }

  /// Runs an asynchronous `operation` under all policies, and returns its value.
  ///
  /// **Errors.** As for the form with promises.
  ///
  /// **Cancellation.** Cancelling the calling task cancels the operation. During the delay of a
  /// retry, and while the operation waits for a limiter, this call throws `CancellationError`
  /// immediately.
  ///
  /// **Time limits.** At a timeout, the operation is cancelled, and this call throws when it has
  /// ended. A value that it returns nevertheless is the result.
  ///
  /// **Execution.** `operation` runs in the caller's isolation, in the calling task or, with a time
  /// limit, in another one for which the caller waits.
  nonisolated(nonsending) public func perform<T>(
    _ operation: nonisolated(nonsending) () async throws -> T
  ) async throws -> T {
    try await perform(policies[...], operation)
  }

  nonisolated(nonsending) private func perform<T>(
    _ policies: ArraySlice<Policy>, _ operation: nonisolated(nonsending) () async throws -> T
  ) async throws -> T {
    guard let first = policies.first else { return try await operation() }
    let rest = policies.dropFirst()
    switch first.kind {
    case .retry(let policy):
      return try await retry(policy, time) { try await perform(rest, operation) }
    case .timeout(let span):
      let limit = RetryProgress.Limit(span: span, named: span)
      return try await withOwnTask(limit: limit, time, isolation: #isolation) {
        try await perform(rest, operation)
      }
    case .circuitBreaker(let breaker):
      return try await breaker.perform { try await perform(rest, operation) }
    case .limiter(let limiter, let priority):
      return try await limiter.perform(priority: priority) {
        try await perform(rest, operation)
      }
    }
  }
}
