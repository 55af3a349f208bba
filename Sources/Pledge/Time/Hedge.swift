extension Promise {
  /// Starts `operation`, and starts it again each time that `delay` passes without a value, until
  /// one of at most `attempts` has a value.
  ///
  /// Hedged requests reduce the latency of a service's slowest responses: the second request can
  /// overtake a first one that is stuck. The first value wins, and the other attempts are
  /// cancelled. An attempt that fails, other than by cancellation, lets the next one start
  /// immediately. When all have failed, the returned promise is rejected with an ``AggregateError``
  /// of their errors; with less than one attempt, with ``PromiseError/invalidArgument(_:)``.
  /// Cancelling it cancels all attempts. Only hedge operations that may run more than once.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func hedged(
    attempts: Int = 2, delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise
  ) -> Promise {
    hedge(
      attempts, TimeSpan(delay), TimeSource(clock), HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise).self))
  }

  /// Starts an asynchronous `operation`, and starts it again each time that `delay` passes without a
  /// value, until one of at most `attempts` has a value.
  ///
  /// See ``hedged(attempts:delay:clock:_:)``.
  ///
  /// **Execution.** Each attempt runs in its own task, in the isolation in which `operation` was
  /// written.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @_disfavoredOverload
  public static func hedged(
    attempts: Int = 2, delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise {
    let operation = keeping(operation)
    return hedge(attempts, TimeSpan(delay), TimeSource(clock), HandlerTarget(immediate: ())) {
      Promise { try await operation() }
    }
  }

  static func hedge(
    _ attempts: Int, _ delay: TimeSpan, _ time: TimeSource, _ target: HandlerTarget,
    _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise {
    guard attempts >= 1 else {
      return .rejected(
        PromiseError.invalidArgument("hedged needs at least one attempt, not \(attempts)."))
    }
    let immediate = HandlerTarget(immediate: ())
    var inputs: [Promise] = []
    // Each attempt waits for the one before to fail, or for its time to pass.
    var start = Promise<Void>.value(())
    for attempt in 1...attempts {
      let work = start.chained(target, operation)
      if attempt == attempts {
        inputs.append(work)
        break
      }
      // In the chain: a separate observer would keep the attempt from being cancelled.
      let (failure, resolver) = Promise<Void>.withResolvers()
      inputs.append(
        work.tapped(immediate) { result in
          // A cancelled attempt starts no other one: most often all of them are being cancelled.
          if case .failure(let error) = result, !(error is CancellationError) {
            resolver.fulfill()
          } else {
            resolver.abandon()
          }
        })
      start = .race(
        failure, start.chained(immediate) { Promise<Void>.after(delay, time) })
    }
    return .any(inputs)
  }
}

/// Calls `operation`, and calls it again each time that `delay` passes without a result, until one
/// of at most `attempts` calls has returned.
///
/// See `Promise.hedged(attempts:delay:clock:_:)`.
///
/// **Execution.** Each call runs in its own task, in the isolation in which `operation` was
/// written.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func hedged<Value: Sendable>(
  attempts: Int = 2, delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
  @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
) async throws -> Value {
  try await Promise.hedged(attempts: attempts, delay: delay, clock: clock, operation).value
}
