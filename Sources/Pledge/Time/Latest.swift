/// An object that runs only the latest of several operations: each cancels the previous one.
///
/// Use it for searches while the user types, previews, and other work whose earlier results become
/// useless. With a `debounce`, an operation starts only when that time has passed without a newer
/// one. When the object is deallocated, the operation in progress is cancelled.
///
/// ```swift
/// let search = Latest<[Hit]>(debounce: .milliseconds(300))
/// func textChanged(_ text: String) {
///   search.run { find(text) }.done { hits in show(hits) }.cauterize()
/// }
/// ```
public final class Latest<Value: Sendable>: Sendable {
  private let current = Mutex<Promise<Value>?>(nil)
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

  /// Cancels the previous operation, and runs `operation` after the debounce time.
  ///
  /// The promise of an operation that is superseded is rejected with `CancellationError`.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  public func run(
    @_inheritActorContext _ operation:
      @escaping @Sendable @isolated(any) () throws -> Promise<Value>
  ) -> Promise<Value> {
    start(
      HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise<Value>).self))
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
    start(HandlerTarget(immediate: ()), startingTasks(operation))
  }

  /// Cancels the operation in progress, if any.
  public func cancel() { replace(with: nil) }

  private func start(
    _ target: HandlerTarget, _ operation: @escaping @Sendable () throws -> Promise<Value>
  ) -> Promise<Value> {
    // Cancels the previous operation first, because the new one may rely on that.
    cancel()
    let work = Promise<Void>.after(debounce, time).chained(target, operation)
    replace(with: work)
    return .onEnd(of: work) { [weak self] in self?.forget(work) }
  }

  private func replace(with work: Promise<Value>?) {
    let old = current.withLock { exchange(&$0, with: work) }
    old?.cancel()
  }

  private func forget(_ work: Promise<Value>) {
    let old = current.withLock { current in
      current == work ? exchange(&current, with: nil) : nil
    }
    withExtendedLifetime(old) {}
  }
}
