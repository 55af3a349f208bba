/// A queue that runs operations with a concurrency limit, in the order of priority and submission.
///
/// ```swift
/// let limiter = Limiter(4)
/// let pages = urls.map { url in limiter.run { download(url) } }
/// ```
///
/// Operations with a higher `priority` start first; those with the same priority start in the order
/// in which they were submitted. A limiter can also limit the rate at which operations start and
/// the number of waiting operations.
///
/// - Important: An operation that waits for another operation of the same limiter keeps its place in
///   the meantime. If all running operations do so, none of them ends. Use separate limiters for the
///   two kinds of operations.
public final class Limiter: Sendable {
  /// The number of operations that can start in a period of time.
  public struct Rate: Sendable, Hashable {
    let count: Int
    let span: TimeSpan

    /// Creates a rate of `count` operations in each `period`; if that is zero or less, the rate isn't
    /// limited.
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public init(_ count: Int, per period: Duration) { self.init(count, TimeSpan(period)) }

    init(_ count: Int, _ span: TimeSpan) {
      self.count = count
      self.span = span
    }
  }

  /// The error of an operation that a limiter rejects because its queue is full.
  public struct QueueFullError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of waiting operations.
    public let capacity: Int

    /// A description that states the capacity.
    public var description: String {
      "The limiter's queue is full: \(capacity) operations are waiting already."
    }
  }

  private let state: Mutex<LimiterQueue>
  private let hasRate: Bool
  private let time: TimeSource
  /// Whether an error means that the service was overloaded; nil unless the limit is adaptive.
  private let isOverload: (@Sendable (any Error) -> Bool)?
  /// Returns the time since the limiter was created.
  private let stopwatch: @Sendable () -> TimeSpan
  package let monitors = Monitors<LimiterEvent>()

  /// Creates a limiter.
  ///
  /// With a limit or a rate of less than one, each operation is rejected with
  /// ``PromiseError/invalidArgument(_:)``.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of operations that run at the same time.
  ///   - rate: The number of operations that can start in a period of time; nil for no limit.
  ///   - queueCapacity: The maximum number of waiting operations; nil for no limit. An operation
  ///     for which there is no room is rejected with ``QueueFullError``.
  ///   - clock: The clock of `rate`.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public convenience init(
    _ limit: Int, rate: Rate? = nil, queueCapacity: Int? = nil, clock: any Clock<Duration>
  ) {
    self.init(LimiterQueue(limit: limit, capacity: queueCapacity, rate), TimeSource(clock))
  }

  /// Creates a limiter; see ``init(_:rate:queueCapacity:clock:)``.
  public convenience init(_ limit: Int, rate: Rate? = nil, queueCapacity: Int? = nil) {
    self.init(LimiterQueue(limit: limit, capacity: queueCapacity, rate), .continuous)
  }

  private init(
    _ queue: sending LimiterQueue, _ time: TimeSource,
    isOverload: (@Sendable (any Error) -> Bool)? = nil
  ) {
    hasRate = queue.hasRate
    state = Mutex(queue)
    self.time = time
    self.isOverload = isOverload
    stopwatch = time.stopwatch()
  }

  /// Creates a limiter that finds the limit itself, from the latency of its operations.
  ///
  /// The limit grows while the operations that run at the same time don't slow each other down, and
  /// shrinks when they do, so that a service gets as much work as it can do, and the excess is
  /// rejected early instead of waiting in the service. The limit changes after each 100 operations
  /// or more. At first, and in every twentieth such group, or sooner, only half as many operations run,
  /// to measure the latency without contention; the others wait. Use one limiter for operations of one
  /// kind.
  ///
  /// - Parameters:
  ///   - range: The limits that are possible, from 1 to 1,000,000; bounds beyond these count as
  ///     these.
  ///   - initial: The limit at first; one outside of `range` counts as the nearest in it.
  ///   - queueCapacity: The maximum number of waiting operations; nil for no limit. The time that
  ///     they wait isn't part of the latency. An operation for which there is no room is rejected
  ///     with ``QueueFullError``.
  ///   - clock: The clock that measures the latency.
  ///   - isOverload: Whether an error means that the service was overloaded, so that the limit
  ///     shrinks by a tenth. Other errors, whose latency says nothing, don't change the limit.
  ///
  /// **Execution.** `isOverload` runs in place, in the task or handler of the operation that failed.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public convenience init(
    adaptive range: ClosedRange<Int>, initial: Int = 10, queueCapacity: Int? = 0,
    clock: any Clock<Duration>,
    isOverload: @escaping @Sendable (any Error) -> Bool = { $0 is TimeoutError }
  ) {
    self.init(
      LimiterQueue(AdaptiveLimit(range, initial: initial), capacity: queueCapacity),
      TimeSource(clock), isOverload: isOverload)
  }

  /// Creates a limiter; see ``init(adaptive:initial:queueCapacity:clock:isOverload:)``.
  public convenience init(
    adaptive range: ClosedRange<Int>, initial: Int = 10, queueCapacity: Int? = 0,
    isOverload: @escaping @Sendable (any Error) -> Bool = { $0 is TimeoutError }
  ) {
    self.init(
      LimiterQueue(AdaptiveLimit(range, initial: initial), capacity: queueCapacity), .continuous,
      isOverload: isOverload)
  }

  /// The maximum number of operations that run at the same time.
  ///
  /// When the limit is raised, waiting operations start immediately; when it is lowered, running
  /// operations continue, and none starts until fewer are running. With a limit of less than one,
  /// waiting and new operations are rejected with ``PromiseError/invalidArgument(_:)``; to stop
  /// starting operations, use ``pause()``. An adaptive limit is the current estimate; if you set it,
  /// it changes from there, within its range.
  public var limit: Int {
    get { state.withLock { $0.limit } }
    set {
      let (rejected, error) = state.withLock { ($0.setLimit(newValue), $0.invalidity) }
      monitors.note(.limit(limit))
      if let error { reject(rejected, with: error) }
      startNext()
    }
  }

  /// The number of running operations.
  public var runningCount: Int { state.withLock { $0.running } }

  /// The number of waiting operations.
  public var waitingCount: Int { state.withLock { $0.waitingCount } }

  /// Whether it runs nothing, nothing waits, it isn't paused, and its rate counted nothing at the time
  /// of the last call.
  var isIdle: Bool { state.withLock { $0.isIdle } }

  /// The number of calls of ``idle()`` that are waiting, for tests.
  package var idleWaiterCount: Int { state.withLock { $0.idleCount } }

  /// Stops starting operations until ``resume()``; running operations continue.
  public func pause() { state.withLock { $0.isPaused = true } }

  /// Continues starting operations after ``pause()``.
  public func resume() {
    state.withLock { $0.isPaused = false }
    startNext()
  }

  /// Rejects all waiting operations with `CancellationError`; running operations continue.
  public func clear() {
    reject(state.withLock { $0.removeAll() }, with: CancellationError())
  }

  /// Rejects operations, which have been removed from the queue.
  private func reject(_ removed: [LimiterWaiter], with error: any Error) {
    monitors.note(.waiting(-removed.count))
    for waiter in removed { waiter.fail(with: error) }
    tellIfIdle()
  }

  /// Returns a promise that is fulfilled when no operation is running or waiting.
  ///
  /// The promise of an asynchronous operation settles shortly after the operation has ended, and so
  /// can be pending for a moment. Wait for it, too, if you need the result.
  public func idle() -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    promise.cell.noteAwaiting(.limiter)
    let number = state.withLock { $0.addIdle(resolver) }
    promise.cell.onCancel { [weak self] in
      let removed = self?.state.withLock { $0.removeIdle(number) }
      withExtendedLifetime(removed) {}
    }
    tellIfIdle()
    return promise
  }

  // MARK: Submitting

  deinit {
    // Only operations of a paused limiter can still be waiting: running ones retain the limiter.
    for waiter in state.withLock({ $0.removeAll() }) {
      monitors.note(.waiting(-1))
      waiter.fail(with: BrokenPromiseError(origin: waiter.origin, reason: .limiterDropped))
    }
  }

  @inlinable
  func submit<T: Sendable>(
    _ priority: Int, _ origin: SourceLocation, _ body: Placed<@Sendable () throws -> Promise<T>>
  ) -> Promise<T> {
    let waiter = enter() ? nil : PromiseWaiter(priority: priority, origin)
    // Attached when the operation is submitted, so that it captures the current task-local values.
    let gate = waiter.map { Promise<Void>(cell: $0.gate) } ?? .value(())
    let work = gate.chained(body.ignoringVoid())
    let start: @Sendable () -> Start? =
      if let waiter { { waiter.end() } } else { { [newStart] in newStart } }
    let result = Promise<T>(
      cell: work.cell.derive(
        T.self, endRole, body: ErasedClosure(start)
      ) { handler, source in
        let start = handler.takeBody(as: (@Sendable () -> Start?).self)()
        // First the room, then the result, because a caller that receives the result can submit the
        // next operation.
        start?.makeRoom(source.endingError)
        handler.copyResult(of: source, as: T.self)
        // Last, because code that waits for the limiter to be idle may rely on the results.
        start?.limiter.tellIfIdle()
      })
    if let waiter { wait(waiter) }
    return result
  }

  /// The role of the handler of an operation's end, which calls only `isOverload` of the user's.
  @usableFromInline var endRole: Role { isOverload == nil ? [.end, .contextFree] : .end }

  /// Submits an operation whose handlers are attached to its gate.
  @usableFromInline
  func wait(_ waiter: PromiseWaiter) {
    waiter.gate.onCancel { [weak self] in self?.withdraw(waiter) }
    do {
      if try submit(waiter) { waiter.start(in: self) }
    } catch {
      waiter.fail(with: error)
    }
  }

  /// Starts an operation that hasn't waited; returns false if there is no room.
  @usableFromInline
  func enter() -> Bool {
    guard withQueue({ $0.enter() }) else { return false }
    monitors.note(.waited(nanoseconds: 0))
    monitors.note(.running(1))
    return true
  }

  /// Submits an operation; returns true if it starts immediately.
  func submit(_ waiter: LimiterWaiter) throws -> Bool {
    // Before another thread can start it, so that the number of waiting operations isn't negative.
    waiter.submission = monitoredTime
    monitors.note(.waiting(1))
    let submission = withQueue { $0.submit(waiter) }
    if case .waiting = submission { return false }
    monitors.note(.waiting(-1))
    if case .rejected(let error) = submission {
      monitors.note(.rejected)
      throw error
    }
    noteEnd(of: waiter)
    monitors.note(.running(1))
    return true
  }

  func withdraw(_ waiter: LimiterWaiter) {
    guard state.withLock({ $0.remove(waiter) }) else { return }
    monitors.note(.waiting(-1))
    waiter.fail(with: CancellationError())
    tellIfIdle()
  }

  /// The time, if there are monitors.
  private var monitoredTime: TimeSpan? { monitors.areMissing ? nil : stopwatch() }

  /// Notes how long an operation that starts now has waited.
  private func noteEnd(of waiter: LimiterWaiter) {
    guard let start = waiter.submission, let now = monitoredTime else { return }
    monitors.note(.waited(nanoseconds: now.inNanoseconds - start.inNanoseconds))
  }

  /// Calls `body` with the queue at the present time, and then starts a timer if an operation waits
  /// for the rate.
  private func withQueue<Result>(
    _ body: (inout sending LimiterQueue) -> sending Result
  ) -> sending Result {
    // The clock can be user code, so it's read without the lock.
    guard hasRate else { return state.withLock(body) }
    let now = stopwatch().inNanoseconds
    let (result, alarm) = state.withLock { queue in
      queue.advance(to: now)
      let result = body(&queue)
      return (result, queue.setAlarm())
    }
    if let alarm {
      // The timer retains the limiter.
      _ = Promise<Void>.after(.nanoseconds(alarm - now), time).mapped(
        .inPlace { [self] _ in
          // Even if the clock reads a little less, as one that counts milliseconds can.
          state.withLock { $0.advance(to: alarm) }
          startNext()
        })
    }
    return result
  }

  /// Stops counting the starts whose period has ended.
  func noteTime() { if hasRate { withQueue { _ in } } }

  /// Starts `waiter`, for which the queue has made room.
  private func start(_ waiter: LimiterWaiter?) {
    guard let waiter else { return }
    monitors.note(.waiting(-1))
    noteEnd(of: waiter)
    monitors.note(.running(1))
    waiter.start(in: self)
  }

  private func startNext() {
    while let waiter = withQueue({ $0.startNext() }) { start(waiter) }
  }

  /// Where and when an operation started.
  @usableFromInline
  struct Start: Sendable {
    @usableFromInline let limiter: Limiter
    /// Nil if neither an adaptive limit nor a monitor needs it.
    fileprivate let time: TimeSpan?

    /// Ends the operation, which failed with `error` unless that is nil, and starts the next one.
    @usableFromInline
    func makeRoom(_ error: (any Error)?) {
      adapt(error)
      limiter.monitors.note(.running(-1))
      if let time, let now = limiter.monitoredTime {
        limiter.monitors.note(.ran(nanoseconds: now.inNanoseconds - time.inNanoseconds))
      }
      limiter.start(limiter.withQueue { $0.leave() })
      if limiter.isOverload != nil { limiter.startNext() }
    }

    private func adapt(_ error: (any Error)?) {
      guard let isOverload = limiter.isOverload, let time = time?.inNanoseconds else { return }
      let sample: AdaptiveLimit.Sample =
        switch error {
        case nil: .response(start: time)
        case let error?: isOverload(error) ? .overload(start: time) : .ignored
        }
      let now = limiter.stopwatch().inNanoseconds
      guard let limit = limiter.state.withLock({ $0.adapt(to: sample, at: now) }) else { return }
      limiter.monitors.note(.limit(limit))
    }

    /// Ends an operation that has no promise.
    @usableFromInline
    func end(_ error: (any Error)?) {
      makeRoom(error)
      limiter.tellIfIdle()
    }
  }

  /// The start, now, of an operation that has room.
  @usableFromInline var newStart: Start {
    Start(limiter: self, time: isOverload == nil ? monitoredTime : stopwatch())
  }

  /// Waits for room, and starts an operation of the calling task.
  @usableFromInline
  nonisolated(nonsending) func wait(priority: Int) async throws {
    let waiter = TaskWaiter(priority: priority, nil)
    if try submit(waiter) { return }
    _ = try await withTaskCancellationHandler {
      try await waiter.result.wait()
    } onCancel: {
      withdraw(waiter)
    }
    // The limiter started it just before the cancellation.
    if Task.isCancelled {
      newStart.end(CancellationError())
      throw CancellationError()
    }
  }

  @usableFromInline
  func tellIfIdle() {
    for resolver in state.withLock({ $0.takeIdle() }) { resolver.fulfill() }
  }
}
