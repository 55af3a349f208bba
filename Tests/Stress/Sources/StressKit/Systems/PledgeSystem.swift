import Dispatch
@_spi(DropIns) import Pledge
import PledgeTesting

/// Pledge, through its public API.
final class PledgeSystem: System {
  typealias Promise = Pledge.Promise<Int>
  typealias Resolver = Pledge.Resolver<Int>

  /// One timer of a sequential program, with a unique deadline.
  private struct Timer {
    let deadline: TestClock.Instant
    let ticks: Int
    /// Retained by the timer's task until the task ends.
    weak var task: TimerClock.Token?
  }

  private struct State {
    var timers: [Timer] = []
    var timerCount = 0
    var ticks = 0
  }

  let run: Int
  private let kind: Program.Kind
  private let manual = [ManualExecutor(), ManualExecutor()]
  private static let queueIndex = DispatchSpecificKey<Int>()
  private let queues = ["first", "second"].map { DispatchQueue(label: "pledge.stress.\($0)") }
  private let limiters = [Limiter(1), Limiter(2)]
  private let coalescer = RequestCoalescer<Int, Int>()
  private let clock = TestClock()
  private let state = Lock(State())

  init(run: Int, kind: Program.Kind) {
    self.run = run
    self.kind = kind
    for (index, queue) in queues.enumerated() {
      queue.setSpecific(key: Self.queueIndex, value: index)
    }
  }

  // MARK: Making promises

  func pending(_ id: Int) -> (Promise, Resolver) {
    // The line identifies the program in a report of the broken promise.
    Promise.withResolvers(fileID: #fileID, line: Reports.line(run: run, id: id))
  }

  func value(_ value: Int) -> Promise { .value(value) }
  func rejected(_ error: StressError) -> Promise { .rejected(error) }

  func map(_ source: Promise, _ place: Place, _ body: @escaping Number) -> Promise {
    source.map(on: executor(place), body)
  }

  func then(_ source: Promise, _ place: Place, _ body: @escaping Next) -> Promise {
    source.then(on: executor(place), body)
  }

  func recover(_ source: Promise, _ place: Place, _ body: @escaping Recovery) -> Promise {
    let handler: @Sendable (any Error) throws -> Promise = { try body(Failure($0)) }
    return source.recover(on: executor(place), handler)
  }

  func `catch`(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable (Failure) -> Void
  ) -> Promise {
    let handler: @Sendable (any Error) -> Void = { body(Failure($0)) }
    return source.catch(on: executor(place), handler).promise.map(on: .immediate) { 0 }
  }

  func finally(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise { source.finally(on: executor(place), body) }

  func reduce(
    _ source: Promise, _ place: Place, _ elements: [Int], _ body: @escaping Combine
  ) -> Promise { source.reduce(on: executor(place), elements, body) }

  func gather(_ gathering: Gathering, _ inputs: [Promise]) -> Promise {
    switch gathering {
    case .race: .race(inputs)
    case .any: .any(inputs)
    case .all: Pledge.Promise<[Int]>.all(inputs).map(on: .immediate) { mixed($0) }
    case .allSettled:
      Pledge.Promise<[Result<Int, any Error>]>.allSettled(inputs).map(on: .immediate) { results in
        mixed(
          results.map { result in
            switch result {
            case .success(let value): value
            case .failure(let error): Failure(error).number
            }
          })
      }
    }
  }

  func limited(_ limiter: Int, _ body: @escaping Work) -> Promise {
    limiters[limiter].run(on: .immediate, body)
  }

  func coalesced(_ key: Int, _ body: () throws -> Promise) -> Promise {
    coalescer.promise(for: key, body)
  }

  func uncancellable(_ source: Promise) -> Promise { source.uncancellable() }

  // MARK: Acting

  func fulfill(_ resolver: Resolver, _ value: Int) -> Bool { resolver.fulfill(value) }
  func reject(_ resolver: Resolver, _ error: StressError) -> Bool { resolver.reject(error) }
  func abandon(_ resolver: Resolver) { resolver.abandon() }
  func resolve(_ resolver: Resolver, with promise: Promise) { resolver.resolve(with: promise) }

  func onCancel(_ resolver: Resolver, _ body: @escaping @Sendable () -> Void) {
    resolver.onCancel(body)
  }

  func cancel(_ promise: Promise) { promise.cancel() }

  func outcome(_ promise: Promise) -> Outcome {
    switch promise.currentResult {
    case nil: .pending
    case .success(let value): .value(value)
    case .failure(let error): .failed(Failure(error))
    }
  }

  // MARK: Executors

  private func executor(_ place: Place) -> any PromiseExecutor {
    switch (place, kind) {
    case (.immediate, _): .immediate
    case (.first, .sequential), (.anywhere, .sequential): manual[0]
    case (.second, .sequential): manual[1]
    case (.first, _): queues[0]
    case (.second, _): queues[1]
    case (.anywhere, _): .global
    }
  }

  func isAt(_ place: Place) -> Bool {
    switch (place, kind) {
    case (.immediate, _), (_, .sequential): true
    case (.first, _): DispatchQueue.getSpecific(key: Self.queueIndex) == 0
    case (.second, _): DispatchQueue.getSpecific(key: Self.queueIndex) == 1
    case (.anywhere, _): DispatchQueue.getSpecific(key: Self.queueIndex) == nil
    }
  }

  func runJob(_ place: Place) -> Bool { (executor(place) as? ManualExecutor)?.runNext() ?? false }

  // MARK: Time

  func timeout(_ source: Promise, ticks: Int) -> Promise {
    guard source.isPending else { return source.timeout(after: .seconds(1), clock: clock) }
    let number = state.withLock { state in
      state.timerCount += 1
      return state.timerCount
    }
    // The attoseconds make the deadline unique, and identify the program in a report.
    let duration = Duration(
      secondsComponent: Int64(ticks), attosecondsComponent: Int64(number * Reports.runs + run))
    let deadline = clock.now.advanced(by: duration)
    let before = clock.sleeperCount
    let token = TimerClock.Token()
    let promise = source.timeout(after: duration, clock: TimerClock(base: clock, token: token))
    guard kind == .sequential else { return promise }
    // The sleep starts in a task.
    Patience.wait(for: "a timer to start") { clock.sleeperCount > before }
    state.withLock { $0.timers.append(Timer(deadline: deadline, ticks: ticks, task: token)) }
    return promise
  }

  func passTime(to ticks: Int) -> Bool {
    let limit = TestClock.Instant(offset: .seconds(ticks + 1))
    let timer: Timer? = state.withLock { state in
      let due = state.timers.indices.filter { state.timers[$0].deadline < limit }
      let next = due.min { state.timers[$0].deadline < state.timers[$1].deadline }
      return next.map { state.timers.remove(at: $0) }
    }
    guard let timer else {
      advance(to: TestClock.Instant(offset: .seconds(ticks)))
      return false
    }
    advance(to: timer.deadline)
    // The timer's task settles the promise on its own thread, and removes its observer.
    Patience.wait(for: "a timer's task") { timer.task == nil }
    return true
  }

  private func advance(to instant: TestClock.Instant) {
    let isDone = DispatchSemaphore(value: 0)
    Task { [clock] in
      await clock.advance(to: instant)
      isDone.signal()
    }
    if isDone.wait(timeout: .now() + Patience.seconds) == .timedOut { Patience.end("the clock") }
  }
}

/// A test clock with a token that tells whether the task that sleeps on the clock has ended.
private struct TimerClock: Clock {
  final class Token: Sendable {}

  let base: TestClock
  let token: Token

  var now: TestClock.Instant { base.now }
  var minimumResolution: Duration { base.minimumResolution }

  func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
    try await base.sleep(until: deadline, tolerance: tolerance)
  }
}

extension Failure {
  init(_ error: any Error) {
    switch error {
    case let error as StressError: self = .thrown(error.id)
    case is CancellationError: self = .cancelled
    case let error as BrokenPromiseError:
      guard error.reason == .resolverDropped, let origin = error.origin else {
        self = .other("\(error)")
        return
      }
      self = .resolverDropped(Int(origin.line) % Reports.runs)
    case let error as TimeoutError: self = .timedOut(Int(error.duration.components.seconds))
    case PromiseError.returnedItself: self = .returnedItself
    case let error as AggregateError: self = .aggregate(error.errors.map { Failure($0) })
    case let error as Failure: self = error
    default: self = .other("\(error)")
    }
  }
}
