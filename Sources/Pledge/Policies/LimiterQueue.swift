/// The state of a limiter: pure bookkeeping that calls no other code.
struct LimiterQueue {
  private var fixedLimit: Int
  private var adaptive: AdaptiveLimit?
  var isPaused = false
  private(set) var running = 0
  private let rate: Limiter.Rate?
  /// When each start that counts against the rate ceases to count, in nanoseconds.
  private var ends = Fifo<Int64>()
  /// The latest known time, in nanoseconds; zero without a rate.
  private var now: Int64 = 0
  /// When the timer for the next start that the rate allows fires; nil if there is none.
  private var alarm: Int64?
  private let capacity: Int?
  private var waiting = Heap<LimiterWaiter>()
  private var nextNumber = 0
  /// The resolvers of promises that wait for the limiter to be idle, in the order of the calls.
  private var idle: [Int: Resolver<Void>] = [:]

  init(limit: Int, capacity: Int?, _ rate: Limiter.Rate? = nil) {
    fixedLimit = limit
    self.capacity = capacity.map { max($0, 0) }
    self.rate = rate.flatMap { $0.span > .zero ? $0 : nil }
  }

  init(_ adaptive: AdaptiveLimit, capacity: Int?) {
    self.init(limit: adaptive.current, capacity: capacity)
    self.adaptive = adaptive
  }

  /// Whether the rate is limited.
  var hasRate: Bool { rate != nil }

  var limit: Int { adaptive?.current ?? fixedLimit }

  /// Changes the limit, and returns the waiting operations if none can start with it.
  mutating func setLimit(_ limit: Int) -> [LimiterWaiter] {
    fixedLimit = limit
    adaptive?.restart(at: limit)
    return invalidity == nil ? [] : removeAll()
  }

  /// Why no operation can start, whatever others do.
  var invalidity: PromiseError? {
    if limit < 1 { return .invalidArgument("A limiter needs a limit of at least 1, not \(limit).") }
    guard let rate, rate.count < 1 else { return nil }
    return .invalidArgument("A limiter needs a rate of at least 1 operation, not \(rate.count).")
  }

  var waitingCount: Int { waiting.count }

  /// Whether a new limiter can take the place of this one without a difference.
  var isIdle: Bool { running == 0 && waiting.count == 0 && !isPaused && ends.isEmpty }

  /// The number of operations that can run now.
  private var runnable: Int { adaptive?.limit ?? fixedLimit }

  private var hasRoom: Bool { running < runnable && !isPaused && !isRateExhausted }

  private var isRateExhausted: Bool { rate.map { ends.count >= $0.count } ?? false }

  /// Starts an operation that hasn't waited; returns false if there is no room.
  mutating func enter() -> Bool {
    // If operations are waiting, they are about to start, and come first.
    guard waiting.count == 0, hasRoom else { return false }
    noteStart()
    return true
  }

  private mutating func noteStart() {
    running += 1
    if let rate {
      let (end, overflow) = now.addingReportingOverflow(rate.span.inNanoseconds)
      ends.append(overflow ? .max : end)
    }
    adaptive?.noteStart(running: running)
  }

  /// Starts an operation, or adds it to the waiting ones.
  mutating func submit(_ waiter: LimiterWaiter) -> Submission {
    if let error = invalidity { return .rejected(error) }
    if enter() { return .started }
    // While an adaptive limiter measures with half as many, the others wait: the limit is the same.
    if let capacity, waiting.count - (limit - runnable) >= capacity {
      return .rejected(Limiter.QueueFullError(capacity: capacity))
    }
    waiter.number = nextNumber
    nextNumber += 1
    waiting.insert(waiter)
    return .waiting
  }

  enum Submission {
    case started
    case waiting
    case rejected(any Error)
  }

  /// Starts the next waiting operation, if there is room, and returns it.
  mutating func startNext() -> LimiterWaiter? {
    guard let first = waiting.first, hasRoom else { return nil }
    noteStart()
    return waiting.remove(first) ? first : nil
  }

  /// Records that an operation has ended, and starts the next one.
  mutating func leave() -> LimiterWaiter? {
    running -= 1
    return startNext()
  }

  /// Records what the end of an operation says about the service; returns the limit if it has
  /// changed.
  mutating func adapt(to sample: AdaptiveLimit.Sample, at now: Int64) -> Int? {
    let old = limit
    adaptive?.noteEnd(sample, at: now, running: running)
    return limit == old ? nil : limit
  }

  /// Records the time in nanoseconds: a start counts against the rate for one period.
  mutating func advance(to time: Int64) {
    now = max(now, time)
    while let end = ends.first, end <= now { _ = ends.removeFirst() }
    if let alarm, alarm <= now { self.alarm = nil }
  }

  /// Returns when a timer must fire, because operations wait for the rate; nil if there is one, or none
  /// is needed.
  mutating func setAlarm() -> Int64? {
    guard alarm == nil, isRateExhausted, waiting.count > 0 else { return nil }
    alarm = ends.first
    return alarm
  }

  /// Removes a waiting operation; returns false if it isn't waiting.
  mutating func remove(_ waiter: LimiterWaiter) -> Bool { waiting.remove(waiter) }

  /// Removes and returns all waiting operations, in their order.
  mutating func removeAll() -> [LimiterWaiter] { waiting.removeAll() }

  // MARK: Waiting for the end

  mutating func addIdle(_ resolver: Resolver<Void>) -> Int {
    defer { nextNumber += 1 }
    idle[nextNumber] = resolver
    return nextNumber
  }

  mutating func removeIdle(_ number: Int) -> Resolver<Void>? { idle.removeValue(forKey: number) }

  /// The number of promises that wait for the limiter to be idle.
  var idleCount: Int { idle.count }

  /// Removes and returns the resolvers of promises that wait for the limiter to be idle, if it is.
  mutating func takeIdle() -> [Resolver<Void>] {
    guard !idle.isEmpty, running == 0, waiting.count == 0 else { return [] }
    return exchange(&idle, with: [:]).sorted { $0.key < $1.key }.map(\.value)
  }
}

/// An operation that waits for a limiter to start it.
///
/// `@unchecked Sendable`: `number` and `place` are guarded by the limiter's lock.
@usableFromInline
class LimiterWaiter: HeapElement, @unchecked Sendable {
  fileprivate let priority: Int
  fileprivate final var number = 0
  final var place = -1
  /// When the operation was submitted, if the limiter has monitors; written before it can start.
  final var submission: TimeSpan?

  /// Where the operation was submitted, for the error if it never starts; nil if it can't happen.
  let origin: SourceLocation?

  init(priority: Int, _ origin: SourceLocation?) {
    self.priority = priority
    self.origin = origin
  }

  final func precedes(_ other: LimiterWaiter) -> Bool {
    priority == other.priority ? number < other.number : priority > other.priority
  }

  /// Runs the operation, which the limiter has started.
  func start(in limiter: Limiter) {}

  /// Ends the operation, which the limiter hasn't started.
  func fail(with error: any Error) {}
}

/// An operation that returns a promise, and starts when its gate opens.
///
/// Handlers of the gate retain the waiter. The gate releases them when it settles, which it always
/// does: a limiter starts its waiters or rejects them.
///
/// `@unchecked Sendable`: as for `LimiterWaiter`; `state` is a mutex, and `gate` is `Sendable`.
@usableFromInline
final class PromiseWaiter: LimiterWaiter, @unchecked Sendable {
  /// The operation's place in its limiter, which is given back exactly once: by the handler of the
  /// operation's end or, if the operation was cancelled while it was about to start, by the thread
  /// that starts it.
  private enum State {
    case waiting
    case started(Limiter.Start)
    case ended
  }

  private let state = Mutex(State.waiting)
  @usableFromInline let gate: Cell = Root<Void>()

  @usableFromInline
  override init(priority: Int, _ origin: SourceLocation?) {
    super.init(priority: priority, origin)
    gate.noteCreation(SourceLocation(fileID: #fileID, line: #line))
    gate.noteAwaiting(.limiter)
  }

  override func start(in limiter: Limiter) {
    let start = limiter.newStart
    let hasStarted = state.withLock { state in
      guard case .waiting = state else { return false }
      state = .started(start)
      return true
    }
    if hasStarted { _ = gate.fulfill(()) } else { start.end(CancellationError()) }
  }

  override func fail(with error: any Error) { gate.reject(Rejection(error, origin: origin)) }

  /// Records that the operation has ended, and returns where and when it started, if it did.
  @usableFromInline
  func end() -> Limiter.Start? {
    let old = state.withLock { exchange(&$0, with: .ended) }
    if case .started(let start) = old { return start }
    return nil
  }
}

/// A task that waits for a limiter, which it then has to leave.
///
/// `@unchecked Sendable`: as for `LimiterWaiter`; `result` is `Sendable`.
final class TaskWaiter: LimiterWaiter, @unchecked Sendable {
  let result = FirstResult<Limiter>()

  override func start(in limiter: Limiter) { result.settle(with: .success(limiter)) }

  override func fail(with error: any Error) { result.settle(with: .failure(error)) }
}
