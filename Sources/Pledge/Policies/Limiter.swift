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
    /// The number of operations that can start in one period; values below one count as one.
    public var count: Int
    /// The length of a period; if it is zero or less, the rate isn't limited.
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public var period: Duration {
      get { span.duration }
      set { span = TimeSpan(newValue) }
    }

    fileprivate var span: TimeSpan

    /// Creates a rate of `count` operations in each `period`.
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
  private let rate: Rate?
  private let time: TimeSource
  package let monitors = Monitors<LimiterEvent>()

  /// Creates a limiter.
  ///
  /// With a limit of less than one, each operation is rejected with
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
    self.init(limit, rate, queueCapacity, TimeSource(clock))
  }

  /// Creates a limiter; see ``init(_:rate:queueCapacity:clock:)``.
  public convenience init(_ limit: Int, rate: Rate? = nil, queueCapacity: Int? = nil) {
    self.init(limit, rate, queueCapacity, .continuous)
  }

  private init(_ limit: Int, _ rate: Rate?, _ queueCapacity: Int?, _ time: TimeSource) {
    let rate = rate.flatMap { $0.span > .zero ? $0 : nil }
    state = Mutex(LimiterQueue(limit: limit, capacity: queueCapacity, rate: rate?.count))
    self.rate = rate
    self.time = time
  }

  /// The maximum number of operations that run at the same time.
  ///
  /// When the limit is raised, waiting operations start immediately; when it is lowered, running
  /// operations continue, and none starts until fewer are running. A value of less than one counts
  /// as one.
  public var limit: Int {
    get { state.withLock { $0.limit } }
    set {
      state.withLock { $0.limit = max(newValue, 1) }
      startNext()
    }
  }

  /// The number of running operations.
  public var runningCount: Int { state.withLock { $0.running } }

  /// The number of waiting operations.
  public var waitingCount: Int { state.withLock { $0.waitingCount } }

  /// The number of tickets in the queue, including removed ones, for tests that these don't
  /// accumulate.
  package var ticketCount: Int { state.withLock { $0.ticketCount } }

  /// The number of priorities in the queue, for tests that only those of waiting operations remain.
  package var priorityCount: Int { state.withLock { $0.priorityCount } }

  /// The number of calls of ``idle()`` that are waiting, for tests.
  package var idleWaiterCount: Int { state.withLock { $0.idle.count } }

  /// Stops starting operations until ``resume()``; running operations continue.
  public func pause() { state.withLock { $0.isPaused = true } }

  /// Continues starting operations after ``pause()``.
  public func resume() {
    state.withLock { $0.isPaused = false }
    startNext()
  }

  /// Rejects all waiting operations with `CancellationError`; running operations continue.
  public func clear() {
    let cleared = state.withLock { $0.removeAll() }
    monitors.note(.waiting(-cleared.count))
    for operation in cleared { operation.reject(CancellationError()) }
    tellIfIdle()
  }

  /// Returns a promise that is fulfilled when no operation is running or waiting.
  public func idle() -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let number = state.withLock { $0.addIdle(resolver) }
    promise.cell.onCancel { [weak self] in
      let removed = self?.state.withLock { $0.idle.removeValue(forKey: number) }
      withExtendedLifetime(removed) {}
    }
    tellIfIdle()
    return promise
  }

  // MARK: Submitting

  func submit<T: Sendable>(
    _ priority: Int, _ target: HandlerTarget, end: TaskEnd? = nil,
    _ body: @escaping @Sendable () throws -> Promise<T>
  ) -> Promise<T> {
    let (promise, resolver) = Promise<T>.withResolvers()
    // Attached when the operation is submitted, so that it captures the current task-local values.
    let (gate, start) = Promise<Void>.withResolvers()
    let work = gate.chained(target, body)
    let operation = LimitedOperation(
      gate: start,
      connect: { limiter in
        // First the room, then the result, because a caller that receives the result can submit the
        // next operation.
        let ended = Promise<T>.onEnd(of: work, target: limiter.time.target) {
          // A cancelled task uses the limited resource until it ends.
          guard let end = end?.promise, end.isPending else { return limiter.leave() }
          end.observe(on: .immediate) { _ in
            limiter.leave()
            limiter.tellIfIdle()
          }
        }
        resolver.resolve(onlyWith: ended)
        // Last, because code that waits for the limiter to be idle may rely on the results.
        ended.cell.attach(
          Handler(
            .watchingObserver, of: ended.cell, on: .inPlace, body: nil, run: { _, _ in limiter.tellIfIdle() }))
      },
      reject: { resolver.reject($0) })
    // Before another thread can start it, so that the number of waiting operations isn't negative.
    monitors.note(.waiting(1))
    let submission = state.withLock { $0.submit(operation, priority: priority) }
    switch submission {
    case .failure(let error):
      monitors.note(.waiting(-1))
      monitors.note(.rejected)
      resolver.reject(error)
    case .success(let ticket):
      promise.cell.onCancel { [weak self] in self?.withdraw(ticket) }
      startNext()
    }
    return promise
  }

  private func withdraw(_ ticket: LimiterQueue.Ticket) {
    let withdrawn = state.withLock { $0.remove(ticket) }
    if withdrawn != nil { monitors.note(.waiting(-1)) }
    withExtendedLifetime(withdrawn) {}
    tellIfIdle()
  }

  private func leave() {
    monitors.note(.running(-1))
    state.withLock { $0.running -= 1 }
    startNext()
  }

  private func startNext() {
    while let operation = state.withLock({ $0.takeNext() }) {
      monitors.note(.waiting(-1))
      monitors.note(.running(1))
      if let rate {
        // A start counts against the rate for one period.
        _ = Promise<Void>.after(rate.span, time)
          .mapped(HandlerTarget(immediate: ())) { [self] in
            state.withLock { $0.startsLeft? += 1 }
            startNext()
          }
      }
      operation.start(in: self)
    }
  }

  private func tellIfIdle() {
    for resolver in state.withLock({ $0.takeIdle() }) { resolver.fulfill() }
  }
}

extension Limiter {
  /// Runs `operation` as soon as the limits allow.
  ///
  /// Cancelling the returned promise removes the operation from the queue or, if it is running,
  /// cancels its promise; the operation then no longer counts. Operations with a higher `priority`
  /// start first.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  public func run<T: Sendable>(
    priority: Int = 0,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise<T>
  ) -> Promise<T> {
    submit(
      priority, HandlerTarget(isolation: operation.isolation),
      Isolated(operation).assumingIsolated(as: (@Sendable () throws -> Promise<T>).self))
  }

  /// Runs `operation` as soon as the limits allow.
  ///
  /// See `run(priority:_:)`.
  ///
  /// **Execution.** `operation` runs on `executor`.
  @_disfavoredOverload
  public func run<T: Sendable>(
    on executor: some PromiseExecutor, priority: Int = 0,
    _ operation: @escaping @Sendable () throws -> Promise<T>
  ) -> Promise<T> {
    submit(priority, HandlerTarget(executor), operation)
  }

  /// Runs `operation`, which returns a guarantee or a promise of another module, as soon as the
  /// limits allow.
  ///
  /// See `run(priority:_:)`.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @_disfavoredOverload
  public func run<T: Thenable>(
    priority: Int = 0,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> T
  ) -> Promise<T.Value> {
    let target = HandlerTarget(isolation: operation.isolation)
    let body = Isolated(operation).assumingIsolated(as: (@Sendable () throws -> T).self)
    return submit(priority, target) { try body().source }
  }

  /// Runs `operation`, on the main actor, as soon as the limits allow.
  ///
  /// See `run(priority:_:)`.
  public func run<T: Sendable>(
    on executor: MainExecutor, priority: Int = 0,
    _ operation: @escaping @MainActor @Sendable () throws -> Promise<T>
  ) -> Promise<T> { run(priority: priority, operation) }

  /// Runs an asynchronous `operation` as soon as the limits allow.
  ///
  /// Cancelling the returned promise rejects it immediately, and removes the operation from the
  /// queue or cancels its task. A cancelled operation counts as running until its task has ended.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @_disfavoredOverload
  public func run<T: Sendable>(
    priority: Int = 0,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> { run(priority: priority, checking: {}, operation) }

  /// Runs an asynchronous `operation` as soon as the limits allow, unless `check`, which is called
  /// just before, throws: then no task starts.
  package func run<T: Sendable>(
    priority: Int, checking check: @escaping @Sendable () throws -> Void,
    _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> {
    let isolation = isolatedTarget(operation.isolation)
    let operation = keeping(operation, in: isolation)
    let end = TaskEnd()
    let task = WaitingTask(end, operation, in: isolation)
    return submit(priority, HandlerTarget(immediate: ()), end: end) {
      try check()
      return task.start()
    }
  }

  /// Runs an asynchronous `operation` as soon as the limits allow, and returns its value.
  ///
  /// ```swift
  /// let page = try await limiter.perform { try await download(url) }
  /// ```
  ///
  /// Cancelling the calling task removes the operation from the queue, or cancels its task, and
  /// this call throws `CancellationError` immediately. A cancelled operation counts as running
  /// until its task has ended.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  public func perform<T: Sendable>(
    priority: Int = 0,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) async throws -> T {
    let promise: Promise<T> = run(priority: priority, operation)
    return try await promise.value
  }
}

/// An operation that a limiter hasn't started yet.
final class LimitedOperation: Sendable {
  private let gate: Resolver<Void>
  private let connect: @Sendable (Limiter) -> Void
  let reject: @Sendable (any Error) -> Void

  init(
    gate: Resolver<Void>, connect: @escaping @Sendable (Limiter) -> Void,
    reject: @escaping @Sendable (any Error) -> Void
  ) {
    self.gate = gate
    self.connect = connect
    self.reject = reject
  }

  // An operation that never starts is dropped silently: its promise has already been rejected.
  deinit { gate.abandon() }

  func start(in limiter: Limiter) {
    connect(limiter)
    gate.fulfill(())
  }
}

/// The state of a limiter: pure bookkeeping that calls no other code.
struct LimiterQueue {
  struct Ticket: Hashable {
    let priority: Int
    let number: Int
  }

  var limit: Int
  var running = 0
  var isPaused = false
  /// The resolvers of promises that wait for the limiter to be idle, in the order of the calls.
  var idle: [Int: Resolver<Void>] = [:]
  /// The number of operations that can still start in this period; nil without a rate.
  var startsLeft: Int?

  private let capacity: Int?
  private var nextNumber = 0
  private var waiting: [Ticket: LimitedOperation] = [:]
  /// The tickets of each priority in the order of submission, including removed ones.
  private var lines: [Int: Line] = [:]
  /// The keys of `lines`, which are the priorities with waiting operations, and some former keys: a
  /// binary heap, highest first.
  private var priorities: [Int] = []

  private struct Line {
    var numbers: [Int] = []
    var first = 0
    /// The number of removed operations from `first` on.
    var removed = 0
  }

  init(limit: Int, capacity: Int?, rate: Int?) {
    self.limit = limit
    self.capacity = capacity.map { max($0, 0) }
    startsLeft = rate.map { max($0, 1) }
  }

  var waitingCount: Int { waiting.count }

  private var canStart: Bool { !isPaused && running < limit && startsLeft != 0 }

  mutating func submit(
    _ operation: LimitedOperation, priority: Int
  ) -> Result<Ticket, any Error> {
    guard limit >= 1 else {
      return .failure(
        PromiseError.invalidArgument("A limiter needs a limit of at least 1, not \(limit)."))
    }
    // The threads that submitted them are about to start these.
    let starting = isPaused ? 0 : max(min(limit - running, startsLeft ?? .max), 0)
    if let capacity, waiting.count - starting >= capacity {
      return .failure(Limiter.QueueFullError(capacity: capacity))
    }
    let ticket = Ticket(priority: priority, number: nextNumber)
    nextNumber += 1
    waiting[ticket] = operation
    if lines[priority] == nil { push(priority) }
    lines[priority, default: Line()].numbers.append(ticket.number)
    return .success(ticket)
  }

  mutating func takeNext() -> LimitedOperation? {
    guard canStart else { return nil }
    while let priority = priorities.first {
      guard let number = takeFirstNumber(of: priority) else {
        popPriority()
        continue
      }
      let ticket = Ticket(priority: priority, number: number)
      if let next = waiting.removeValue(forKey: ticket) {
        running += 1
        startsLeft? -= 1
        return next
      }
      lines[priority]?.removed -= 1
    }
    return nil
  }

  private mutating func takeFirstNumber(of priority: Int) -> Int? {
    guard var line = exchange(&lines[priority], with: nil), line.first < line.numbers.count
    else { return nil }
    line.first += 1
    let number = line.numbers[line.first - 1]
    guard line.first < line.numbers.count else {
      popPriority()
      return number
    }
    // Amortized constant time; memory is proportional to the number of waiting operations.
    if line.first > 32, line.first * 2 > line.numbers.count {
      line.numbers.removeFirst(line.first)
      line.first = 0
    }
    lines[priority] = line
    return number
  }

  mutating func remove(_ ticket: Ticket) -> LimitedOperation? {
    guard let operation = waiting.removeValue(forKey: ticket) else { return nil }
    dropNumber(of: ticket.priority)
    return operation
  }

  /// Records that an operation was removed from a line.
  ///
  /// This takes amortized constant time; memory is proportional to the number of waiting
  /// operations.
  private mutating func dropNumber(of priority: Int) {
    guard var line = exchange(&lines[priority], with: nil) else { return }
    line.removed += 1
    let kept = line.numbers.count - line.first
    guard line.removed < kept else {
      return dropFormerPriorities()
    }
    if line.removed > 32, line.removed * 2 > kept {
      line.numbers = line.numbers[line.first...].filter {
        waiting[Ticket(priority: priority, number: $0)] != nil
      }
      (line.first, line.removed) = (0, 0)
    }
    lines[priority] = line
  }

  /// Adds a priority to the heap.
  private mutating func push(_ priority: Int) {
    var index = priorities.count
    priorities.append(priority)
    while index > 0, priorities[(index - 1) / 2] < priority {
      priorities.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Removes the highest priority from the heap.
  private mutating func popPriority() {
    priorities.swapAt(0, priorities.count - 1)
    priorities.removeLast()
    var index = 0
    while 2 * index + 1 < priorities.count {
      var child = 2 * index + 1
      if child + 1 < priorities.count, priorities[child + 1] > priorities[child] { child += 1 }
      if priorities[index] >= priorities[child] { return }
      priorities.swapAt(index, child)
      index = child
    }
  }

  /// Removes the former keys from the heap if there are many.
  ///
  /// This takes amortized O(log n) time; memory is proportional to the number of waiting
  /// operations.
  private mutating func dropFormerPriorities() {
    guard priorities.count > 2 * lines.count else { return }
    // A sorted array is a heap.
    priorities = lines.keys.sorted(by: >)
  }

  /// The number of stored priorities, of waiting or removed operations.
  var priorityCount: Int { priorities.count }

  /// The number of stored tickets, waiting or removed.
  var ticketCount: Int { lines.values.reduce(0) { $0 + $1.numbers.count } }

  mutating func removeAll() -> [LimitedOperation] {
    defer {
      waiting = [:]
      lines = [:]
      priorities = []
    }
    return waiting.sorted {
      ($1.key.priority, $0.key.number) < ($0.key.priority, $1.key.number)
    }.map(\.value)
  }

  mutating func addIdle(_ resolver: Resolver<Void>) -> Int {
    defer { nextNumber += 1 }
    idle[nextNumber] = resolver
    return nextNumber
  }

  /// Removes and returns the resolvers of promises that wait for the limiter to be idle, if it is.
  mutating func takeIdle() -> [Resolver<Void>] {
    guard running == 0, waiting.isEmpty, !idle.isEmpty else { return [] }
    return exchange(&idle, with: [:]).sorted { $0.key < $1.key }.map(\.value)
  }
}
