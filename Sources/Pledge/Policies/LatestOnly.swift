/// An object that runs only the latest of several operations: each cancels the previous one.
///
/// Use it for searches while the user types, previews, and other work whose earlier results become
/// useless. With a `debounce`, an operation starts only when that time has passed without a newer
/// one. When the object is deallocated, the operation in progress is cancelled.
///
/// ```swift
/// let search = LatestOnly<Void>(debounce: .milliseconds(300))
/// func textChanged(_ text: String) {
///   spinner.isVisible = true
///   search.run { find(text).done { hits in show(hits) } }
///     .finally { spinner.isVisible = search.isRunning }
///     .ignoreErrors()
/// }
/// ```
///
/// Put the handlers that use the result into the operation, as here, so that they are superseded
/// with it. A handler of the promise that `run` returns can still receive a result that arrived
/// while its executor, such as the main actor, was busy.
///
/// The promise of a superseded operation is rejected, so its `finally` runs while the next operation
/// is in progress. Ask ``isRunning`` there instead of hiding a spinner.
public final class LatestOnly<Value: Sendable>: Sendable {
  private struct State {
    var work: Promise<Value>?
    /// The number of operations and of calls of `cancel()` so far.
    var count = 0
    var isRunning = false
  }

  private let state = Mutex(State())
  private let debounce: TimeSpan
  private let time: TimeSource

  /// Creates an object without an operation.
  ///
  /// - Parameters:
  ///   - debounce: The time to wait for a newer operation before an operation starts.
  ///   - clock: The clock that measures `debounce`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public convenience init(
    debounce: Duration = .zero, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.init(TimeSpan(debounce), TimeSource(clock))
  }

  init(_ debounce: TimeSpan, _ time: TimeSource) {
    self.debounce = debounce
    self.time = time
  }

  deinit { cancel() }

  /// Whether an operation is in progress or waits for the debounce time to pass.
  ///
  /// It is false before the promise of the last operation settles, unless another one was started.
  public var isRunning: Bool { state.withLock { $0.isRunning } }

  /// Cancels the previous operation, and runs `operation` after the debounce time.
  ///
  /// The promise of an operation that is superseded is rejected with `CancellationError`.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  public func run(
    @_inheritActorContext _ operation:
      @escaping @Sendable @isolated(any) () throws -> Promise<Value>
  ) -> Promise<Value> {
    let operation = Placed(operation)
    return start { debounce in debounce.chained(operation.ignoringVoid()) }
  }

  /// Cancels the previous operation, and runs an asynchronous `operation` after the debounce time.
  ///
  /// The promise of an operation that is superseded is rejected with `CancellationError`, and its
  /// task is cancelled.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @_disfavoredOverload
  public func run(
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) -> Promise<Value> {
    let operation = IsolatedOperation(operation)
    // A task waits, because only a task can store its creator's task-local values and priority.
    return start { debounce in
      Promise(calling: operation) {
        try await debounce.value
        return try await operation()
      }
    }
  }

  /// Cancels the operation in progress, if any.
  public func cancel() {
    supersede(running: false).old?.cancel()
  }

  /// Returns the number of a new operation, and the previous operation, which the caller must
  /// cancel.
  private func supersede(running: Bool) -> (number: Int, old: Promise<Value>?) {
    state.withLock { state in
      state.count += 1
      state.isRunning = running
      return (state.count, exchange(&state.work, with: nil))
    }
  }

  /// Starts work, which waits for the debounce time.
  private func start(_ start: (Promise<Void>) -> Promise<Value>) -> Promise<Value> {
    let (number, old) = supersede(running: true)
    // Cancels the previous operation first, because the new one may rely on that.
    old?.cancel()
    let work = start(.after(debounce, time))
    let isLatest = state.withLock { state in
      if state.count == number { state.work = work }
      return state.count == number
    }
    // A newer one, or `cancel()`, which this one can have called, has found nothing to cancel.
    if !isLatest { work.cancel() }
    return work.ending { [weak self] in self?.forget(number) }
  }

  private func forget(_ number: Int) {
    let old = state.withLock { state -> Promise<Value>? in
      guard state.count == number else { return nil }
      state.isRunning = false
      return exchange(&state.work, with: nil)
    }
    withExtendedLifetime(old) {}
  }
}
