/// The reference, behind the protocol that it shares with Pledge.
///
/// `@unchecked Sendable`: only one thread uses it.
final class ReferenceSystem: System, @unchecked Sendable {
  typealias Promise = ReferencePromise

  private struct Timer {
    let deadline: Duration
    let fire: () -> Void
  }

  private final class Limiter {
    let limit: Int
    var running = 0
    var waiting: [(ticket: Int, start: () -> Void)] = []
    init(_ limit: Int) { self.limit = limit }
  }

  private final class CoalescedWork { let promise = Promise(.resolver(CancelHooks())) }

  let world: ReferenceWorld
  private let run: Int
  private let executors = [Executor(), Executor()]
  private let limiters = [Limiter(1), Limiter(2)]
  /// The work in progress, by key.
  private var coalesced: [Int: CoalescedWork] = [:]
  private var timers: [Timer] = []
  private var timerCount = 0
  private var tickets = 0
  private var now = Duration.zero

  init(run: Int, fault: Fault) {
    world = ReferenceWorld(fault: fault)
    self.run = run
  }

  // MARK: Making promises

  func pending(_ id: Int) -> (Promise, ReferenceResolver) {
    let promise = Promise(.resolver(CancelHooks()))
    return (promise, ReferenceResolver(promise, id, world))
  }

  func value(_ value: Int) -> Promise {
    Promise(.nothing, outcome: .value(value))
  }

  func rejected(_ error: StressError) -> Promise {
    let promise = Promise(.nothing)
    world.reject(promise, .thrown(error.id))
    return promise
  }

  func map(_ source: Promise, _ place: Place, _ body: @escaping Number) -> Promise {
    world.derive(source, executor(place), wantsValue: true) { [self] promise, outcome in
      guard case .value(let value) = outcome else { return world.finish(promise, outcome) }
      attempt(promise) { world.finish(promise, .value(try body(value))) }
    }
  }

  func then(_ source: Promise, _ place: Place, _ body: @escaping Next) -> Promise {
    world.derive(source, executor(place), wantsValue: true) { [self] promise, outcome in
      guard case .value(let value) = outcome else { return world.finish(promise, outcome) }
      attempt(promise) { world.adopt(try body(value), by: promise) }
    }
  }

  func recover(_ source: Promise, _ place: Place, _ body: @escaping Recovery) -> Promise {
    world.derive(source, executor(place), wantsRejection: true) { [self] promise, outcome in
      guard let rejection = outcome.rejection else { return world.finish(promise, outcome) }
      rejection.isHandled = true
      attempt(promise) { world.adopt(try body(rejection.failure), by: promise) }
    }
  }

  func `catch`(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable (Failure) -> Void
  ) -> Promise {
    let caught = world.derive(source, executor(place), wantsRejection: true) {
      [world] promise, outcome in
      if let rejection = outcome.rejection {
        rejection.isHandled = true
        body(rejection.failure)
      }
      world.finish(promise, .value(0))
    }
    return map(caught, .immediate) { $0 }
  }

  func finally(
    _ source: Promise, _ place: Place, _ body: @escaping @Sendable () throws -> Void
  ) -> Promise {
    world.derive(source, executor(place), wantsValue: true, wantsRejection: true) {
      [self] promise, outcome in
      attempt(promise) {
        try body()
        world.finish(promise, outcome)
      }
    }
  }

  /// Runs the closure of a handler, whose error rejects `promise`.
  private func attempt(_ promise: Promise, _ body: () throws -> Void) {
    do { try body() } catch { world.reject(promise, Failure(error)) }
  }

  func reduce(
    _ source: Promise, _ place: Place, _ elements: [Int], _ body: @escaping Combine
  ) -> Promise {
    guard let first = elements.first else { return source }
    return then(source, place) { [self] value in
      reduce(try body(value, first), place, Array(elements.dropFirst()), body)
    }
  }

  func gather(_ gathering: Gathering, _ inputs: [Promise]) -> Promise {
    switch gathering {
    case .race: world.race(inputs)
    case .any: world.any(inputs)
    case .all: map(world.all(inputs), .immediate) { $0 }
    case .allSettled: map(world.allSettled(inputs), .immediate) { $0 }
    }
  }

  func uncancellable(_ source: Promise) -> Promise { copy(source, isShield: true) }

  func limited(_ limiter: Int, _ body: @escaping Work) -> Promise {
    let limiter = limiters[limiter]
    let isFree = limiter.running < limiter.limit && limiter.waiting.isEmpty
    let gate = Promise(.resolver(CancelHooks()))
    var hasStarted = false
    let start = { [world] in
      hasStarted = true
      world.settle(gate, .value(0))
    }
    if isFree {
      limiter.running += 1
      start()
    }
    let work = then(gate, .immediate) { _ in try body() }
    let result = copy(work, hearsAbandonment: true) { [self] in
      guard hasStarted else { return }
      limiter.running -= 1
      startNext(limiter)
    }
    if isFree { return result }
    tickets += 1
    let ticket = tickets
    limiter.waiting.append((ticket, start))
    world.onCancel(gate) { limiter.waiting.removeAll { $0.ticket == ticket } }
    return result
  }

  func coalesced(_ key: Int, _ body: () throws -> Promise) -> Promise {
    if let work = coalesced[key] { return copy(work.promise) }
    let work = CoalescedWork()
    coalesced[key] = work
    // The callers are the consumers of the work: if all cancel, it is cancelled.
    let result = copy(work.promise)
    world.onCancel(work.promise) { [self] in forget(work, key) }
    var inner = Promise(.nothing)
    attempt(inner) { inner = try body() }
    world.follow(work.promise, inner, keeping: nil) { [self] in forget(work, key) }
    return result
  }

  /// Returns a promise with the same result, which is another consumer of `source`; `body` runs
  /// before it settles.
  private func copy(
    _ source: Promise, isShield: Bool = false, hearsAbandonment: Bool = false,
    _ body: @escaping () -> Void = {}
  ) -> Promise {
    world.derive(source, isShield: isShield, hearsAbandonment: hearsAbandonment) {
      [world] promise, outcome in
      body()
      world.finish(promise, outcome)
    }
  }

  private func forget(_ work: CoalescedWork, _ key: Int) {
    if coalesced[key] === work { coalesced[key] = nil }
  }

  private func startNext(_ limiter: Limiter) {
    while limiter.running < limiter.limit, !limiter.waiting.isEmpty {
      limiter.running += 1
      limiter.waiting.removeFirst().start()
    }
  }

  // MARK: Acting

  func fulfill(_ resolver: ReferenceResolver, _ value: Int) -> Bool {
    world.settle(resolver.promise, .value(value))
  }

  func reject(_ resolver: ReferenceResolver, _ error: StressError) -> Bool {
    world.reject(resolver.promise, .thrown(error.id))
  }

  func abandon(_ resolver: ReferenceResolver) { world.settle(resolver.promise, .abandoned) }

  func resolve(_ resolver: ReferenceResolver, with promise: Promise) {
    world.follow(resolver.promise, promise, keeping: resolver)
  }

  func onCancel(_ resolver: ReferenceResolver, _ body: @escaping @Sendable () -> Void) {
    world.onCancel(resolver.promise, body)
  }

  func cancel(_ promise: Promise) { world.cancel(promise) }

  func outcome(_ promise: Promise) -> Outcome {
    switch promise.outcome {
    case nil, .abandoned: .pending
    case .value(let value): .value(value)
    case .rejection(let rejection): .failed(rejection.failure)
    }
  }

  // MARK: Executors and time

  private func executor(_ place: Place) -> Executor? {
    place == .immediate ? nil : executors[place == .second ? 1 : 0]
  }

  /// Not checked, because the reference defines the expected behavior.
  func isAt(_ place: Place) -> Bool { true }

  func runJob(_ place: Place) -> Bool {
    guard let executor = executor(place), !executor.jobs.isEmpty else { return false }
    world.start(executor.jobs.removeFirst())
    return true
  }

  func timeout(_ source: Promise, ticks: Int) -> Promise {
    if outcome(source) != .pending { return source }
    timerCount += 1
    let duration = Duration(
      secondsComponent: Int64(ticks), attosecondsComponent: Int64(timerCount * Reports.runs + run))
    let (promise, fire) = world.timeout(source, .timedOut(ticks))
    timers.append(Timer(deadline: now + duration, fire: fire))
    return promise
  }

  func passTime(to ticks: Int) -> Bool {
    let next = timers.indices.filter { timers[$0].deadline < .seconds(ticks + 1) }
      .min { timers[$0].deadline < timers[$1].deadline }
    guard let next else {
      now = max(now, .seconds(ticks))
      return false
    }
    let timer = timers.remove(at: next)
    now = max(now, timer.deadline)
    timer.fire()
    return true
  }
}
