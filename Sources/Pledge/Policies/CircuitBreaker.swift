/// A switch that stops calls to a service that keeps failing, so that they fail immediately and the
/// service can recover.
///
/// ```swift
/// let breaker = CircuitBreaker(.failureRate(0.5, ofLast: 50), openDuration: .seconds(10))
/// let page = try await breaker.perform { try await download(url) }
/// ```
///
/// A breaker is *closed* at first, and passes all calls on. When its ``Threshold`` is reached, it
/// *opens*: for the open duration, it rejects each call with ``CircuitOpenError`` without starting
/// it. Then it is *half-open*: it admits a limited number of calls as probes, and rejects the others.
/// When that many probes have succeeded, it closes; when one fails, it opens again. While a probe
/// takes longer than the open duration, the breaker admits another one.
///
/// Share one breaker among all calls to one service. A call counts only if the breaker hasn't changed
/// its state since the call started. The breaker needs no timer.
///
/// **Failures.** By default, every error but `CancellationError` is a failure. An error that isn't a
/// failure counts as a success, because the service has responded; a cancelled call counts as neither.
public final class CircuitBreaker: Sendable {
  /// The state of a circuit breaker.
  public enum State: Sendable, Hashable {
    /// All calls are admitted.
    case closed
    /// No call is admitted.
    case open
    /// A limited number of calls are admitted, as probes.
    case halfOpen
  }

  /// When a circuit breaker opens.
  public struct Threshold: Sendable {
    enum Kind: Sendable {
      case consecutive(Int)
      case last(count: Int, rate: Double, minimum: Int)
      case period(length: Int64, rate: Double, minimum: Int)
    }

    let kind: Kind

    /// Opens after `count` failures without a success between them; less than one counts as one.
    public static func consecutiveFailures(_ count: Int) -> Threshold {
      Threshold(kind: .consecutive(max(count, 1)))
    }

    /// Opens when a call fails, and at least a part of the last calls failed.
    ///
    /// It takes one byte of memory for each call in the window.
    ///
    /// - Parameters:
    ///   - rate: The part of the calls, from 0 to 1, that must have failed. With zero or less, the
    ///     first failure is enough; with more than one, or a value that isn't a number, the breaker
    ///     never opens by itself.
    ///   - count: The number of calls in the window, at least 1 and at most 100,000.
    ///   - minimumCalls: The number of calls that must have ended since the breaker closed, at least
    ///     1 and at most `count`.
    public static func failureRate(
      _ rate: Double, ofLast count: Int, minimumCalls: Int = 10
    ) -> Threshold {
      let count = min(max(count, 1), 100_000)
      return Threshold(
        kind: .last(count: count, rate: rate, minimum: min(max(minimumCalls, 1), count)))
    }

    /// Opens when a call fails, and at least a part of the calls that ended in the last `period` failed.
    ///
    /// Calls leave the window a tenth of the period at a time.
    ///
    /// - Parameters:
    ///   - rate: The part of the calls that must have failed; see
    ///     ``failureRate(_:ofLast:minimumCalls:)``.
    ///   - period: The length of the window; with zero or less, it contains only the calls that end
    ///     at the same moment.
    ///   - minimumCalls: The number of calls in the window that is required, at least 1.
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public static func failureRate(
      _ rate: Double, inLast period: Duration, minimumCalls: Int = 10
    ) -> Threshold {
      failureRate(rate, TimeSpan(period), minimumCalls)
    }

    static func failureRate(
      _ rate: Double, _ period: TimeSpan, _ minimumCalls: Int
    ) -> Threshold {
      Threshold(
        kind: .period(
          length: max(period.inNanoseconds, 1), rate: rate, minimum: max(minimumCalls, 1)))
    }
  }

  private let circuit: Mutex<CircuitState>
  /// How long a call may take, in nanoseconds, without counting as a failure; nil for any time.
  private let slowTime: Int64?
  private let needsTime: Bool
  private let isFailure: @Sendable (any Error) -> Bool
  private let observer: (@Sendable (State) -> Void)?
  /// Returns the time since the breaker was created.
  private let stopwatch: @Sendable () -> TimeSpan
  package let monitors = Monitors<CircuitEvent>()

  /// Creates a closed circuit breaker.
  ///
  /// - Parameters:
  ///   - threshold: When the breaker opens.
  ///   - openDuration: How long it stays open. With zero or less, it is half-open immediately; if it
  ///     is longer than 292 years, only ``close()`` ends it.
  ///   - probes: The number of calls that must succeed while the breaker is half-open, at least 1;
  ///     it admits no more than that.
  ///   - slowCallDuration: The time after which a call counts as a failure, even if it succeeds; nil
  ///     for no limit. It doesn't end the call: use a timeout inside the call for that.
  ///   - clock: The clock of the durations.
  ///   - isFailure: Whether an error is a failure. A call that fails after it was cancelled passes a
  ///     `CancellationError`. A trailing closure without a label is this one, not the observer.
  ///   - observer: A closure that is called with each new state, in order, never concurrently. It is
  ///     called with ``State/halfOpen`` when the first probe starts.
  ///
  /// **Execution.** `isFailure` and `observer` run in place, in the task or handler of the call that
  /// has ended or started, and can use the breaker.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public convenience init(
    _ threshold: Threshold = .consecutiveFailures(5), openDuration: Duration = .seconds(30),
    probes: Int = 1, slowCallDuration: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    isFailure: @escaping @Sendable (any Error) -> Bool = { !($0 is CancellationError) },
    observer: (@Sendable (State) -> Void)? = nil
  ) {
    self.init(
      threshold, TimeSpan(openDuration), probes, slowCallDuration.map { TimeSpan($0) },
      TimeSource(clock), isFailure, observer)
  }

  init(
    _ threshold: Threshold, _ openTime: TimeSpan, _ probes: Int, _ slowTime: TimeSpan?,
    _ time: TimeSource, _ isFailure: @escaping @Sendable (any Error) -> Bool,
    _ observer: (@Sendable (State) -> Void)?
  ) {
    circuit = Mutex(CircuitState(threshold, openTime: openTime.inNanoseconds, probes: probes))
    self.slowTime = slowTime?.inNanoseconds
    needsTime = if case .period = threshold.kind { true } else { slowTime != nil }
    self.isFailure = isFailure
    self.observer = observer
    stopwatch = time.stopwatch()
  }

  /// The current state, which is ``State/halfOpen`` as soon as a probe would be admitted.
  public var state: State {
    // The clock can be user code, which isn't called under the lock.
    if !circuit.withLock({ $0.needsTime }) { return .closed }
    let now = now()
    return circuit.withLock { $0.state(at: now) }
  }

  /// Opens the circuit until ``close()`` is called; calls in progress continue.
  public func open() { change { $0.open() } }

  /// Closes the circuit, and forgets all failures.
  public func close() { change { $0.close() } }

  // MARK: Calls

  /// An admitted call.
  @usableFromInline
  struct Call: Sendable {
    fileprivate let era: Int
    /// Nil if it isn't needed.
    fileprivate let start: Int64?
  }

  private func now() -> Int64 { stopwatch().inNanoseconds }

  /// Admits a call; the caller must call `end` when it has ended.
  @usableFromInline
  func admit() throws(CircuitOpenError) -> Call {
    let start = slowTime == nil ? nil : now()
    if let era = circuit.withLock({ $0.admitIfClosed() }) { return Call(era: era, start: start) }
    let now = start ?? now()
    switch change({ $0.admit(at: now) }) {
    case .admitted(let era): return Call(era: era, start: start)
    case .rejected(let rest):
      monitors.note(.rejected)
      throw CircuitOpenError(span: rest.map { .nanoseconds($0) })
    }
  }

  /// Records the end of a call, which failed with `error` unless that is nil.
  @usableFromInline
  func end(_ call: Call, _ error: (any Error)?) {
    var outcome = error.map(outcome) ?? .success
    let now = needsTime || outcome == .failure || call.start != nil ? now() : 0
    if let start = call.start, let slowTime, outcome == .success, now - start >= slowTime {
      outcome = .failure
    }
    monitors.note(.ended(outcome))
    change { $0.end(call.era, outcome, at: now) }
  }

  private func outcome(of error: any Error) -> CircuitOutcome {
    if isFailure(error) { return .failure }
    return error is CancellationError ? .ignored : .success
  }

  /// Changes the state, and tells the observers.
  @discardableResult
  private func change<Result: Sendable>(_ body: (inout CircuitState) -> Result) -> Result {
    let (result, hasNews) = circuit.withLock { circuit in
      let result = body(&circuit)
      return (result, circuit.hasNews)
    }
    if hasNews { tell() }
    return result
  }

  private func tell() {
    var isFirst = true
    while let state = circuit.withLock({ $0.nextChange(isFirst: isFirst) }) {
      isFirst = false
      monitors.note(.changed(state))
      observer?(state)
    }
  }

  @usableFromInline
  func run<T: Sendable>(
    _ origin: SourceLocation, _ operation: Placed<@Sendable () throws -> Promise<T>>
  ) -> Promise<T> {
    let call: Call
    do throws(CircuitOpenError) {
      call = try admit()
    } catch {
      return .rejected(error, origin: origin)
    }
    let work = Promise<Void>.value(()).chained(operation.ignoringVoid())
    return Promise(
      cell: work.cell.derive(
        T.self, .end, body: ErasedClosure({ [self] in end(call, $0) } as End)
      ) { handler, source in
        // First the breaker, because a caller that receives the result can make the next call.
        handler.takeBody(as: End.self)(source.endingError)
        handler.copyResult(of: source, as: T.self)
      })
  }

  @usableFromInline typealias End = @Sendable ((any Error)?) -> Void
}

extension Cell {
  /// The error with which this settled cell ended; an abandoned one counts as cancelled.
  @usableFromInline
  var endingError: (any Error)? {
    guard let rejection else { return nil }
    return rejection.isAbandonment ? CancellationError() : rejection.error
  }
}

extension CircuitBreaker {
  /// Runs `operation` unless the circuit is open.
  ///
  /// If it is open, the returned promise is rejected with ``CircuitOpenError``. Cancelling the
  /// promise cancels that of the operation; the call then counts as cancelled.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  public func run<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise<T>
  ) -> Promise<T> {
    run(SourceLocation(fileID: fileID, line: line), Placed(operation))
  }

  /// The same as `run(_:)`, for a guarantee or a promise of another module.
  @_disfavoredOverload
  public func run<T: Thenable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> T
  ) -> Promise<T.Value> {
    run(
      SourceLocation(fileID: fileID, line: line),
      Placed(operation).map { operation in { try operation().source } })
  }

  /// Runs an asynchronous `operation` unless the circuit is open.
  ///
  /// If it is open, the returned promise is rejected with ``CircuitOpenError``. Cancelling the
  /// promise rejects it immediately and cancels the operation's task; the call counts as cancelled
  /// when that has ended.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @_disfavoredOverload
  public func run<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> {
    let operation = IsolatedOperation(operation)
    return Promise(calling: operation, fileID: fileID, line: line) { [self] in
      try await perform { try await operation() }
    }
  }

  /// Runs an asynchronous `operation` unless the circuit is open, and returns its value.
  ///
  /// **Errors.** Those of `operation`, and ``CircuitOpenError`` if the circuit is open.
  ///
  /// **Cancellation.** The operation receives the cancellation of the calling task. An error that it
  /// throws after that counts as `CancellationError`.
  ///
  /// **Execution.** `operation` runs in the calling task and in the caller's isolation.
  @inlinable
  nonisolated(nonsending) public func perform<T>(
    _ operation: nonisolated(nonsending) () async throws -> T
  ) async throws -> T {
    let call = try admit()
    do {
      let value = try await operation()
      end(call, nil)
      return value
    } catch {
      end(call, Task.isCancelled ? CancellationError() : error)
      throw error
    }
  }
}
