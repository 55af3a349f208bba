/// The reference, behind the protocol that it shares with Pledge.
///
/// `@unchecked Sendable`: all state is guarded by the world's lock.
final class ReferenceSystem: System, @unchecked Sendable {
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

  private final class CoalescedWork {
    let promise = ReferencePromise(.resolver(CancelHooks()))
  }

  let world: ReferenceWorld
  private let run: Int
  private let kind: Program.Kind
  private let executors = [Executor(), Executor()]
  private let limiters = [Limiter(1), Limiter(2)]
  /// The work in progress, by key.
  private var coalesced: [Int: CoalescedWork] = [:]
  private var timers: [Timer] = []
  private var timerCount = 0
  private var tickets = 0
  private var now = Duration.zero

  init(run: Int, kind: Program.Kind, fault: Fault = .none) {
    world = ReferenceWorld(fault: fault)
    self.run = run
    self.kind = kind
  }

  func exclusively<Result>(_ body: () -> Result) -> Result { world.lock.withLock(body) }

  // MARK: Making promises

  func pending(_ id: Int) -> (ReferencePromise, ReferenceResolver) {
    let promise = ReferencePromise(.resolver(CancelHooks()))
    return (promise, ReferenceResolver(promise, id, world))
  }

  func value(_ value: Int) -> ReferencePromise {
    ReferencePromise(.nothing, outcome: .value(value))
  }

  func rejected(_ error: StressError) -> ReferencePromise {
    let promise = ReferencePromise(.nothing)
    world.reject(promise, .thrown(error.id))
    return promise
  }

  func map(
    _ source: ReferencePromise, _ place: Place, _ body: @escaping Number
  ) -> ReferencePromise {
    map(source, executor(place), body)
  }

  private func map(
    _ source: ReferencePromise, _ executor: Executor? = nil, _ body: @escaping (Int) throws -> Int
  ) -> ReferencePromise {
    world.derive(source, executor, wantsValue: true) { [world] promise, outcome in
      guard case .value(let value) = outcome else { return world.finish(promise, outcome) }
      do { world.finish(promise, .value(try body(value))) } catch {
        world.reject(promise, Failure(error))
      }
    }
  }

  func then(
    _ source: ReferencePromise, _ place: Place,
    _ body: @escaping @Sendable (Int) throws -> ReferencePromise
  ) -> ReferencePromise {
    then(source, executor(place), body)
  }

  private func then(
    _ source: ReferencePromise, _ executor: Executor? = nil,
    _ body: @escaping (Int) throws -> ReferencePromise
  ) -> ReferencePromise {
    world.derive(source, executor, wantsValue: true) { [world] promise, outcome in
      guard case .value(let value) = outcome else { return world.finish(promise, outcome) }
      do { world.adopt(try body(value), by: promise) } catch {
        world.reject(promise, Failure(error))
      }
    }
  }

  func recover(
    _ source: ReferencePromise, _ place: Place,
    _ body: @escaping @Sendable (Failure) throws -> ReferencePromise
  ) -> ReferencePromise {
    world.derive(source, executor(place), wantsRejection: true) { [world] promise, outcome in
      guard let rejection = outcome.rejection else { return world.finish(promise, outcome) }
      rejection.isHandled = true
      do { world.adopt(try body(rejection.failure), by: promise) } catch {
        world.reject(promise, Failure(error))
      }
    }
  }

  func `catch`(
    _ source: ReferencePromise, _ place: Place, _ body: @escaping @Sendable (Failure) -> Void
  ) -> ReferencePromise {
    let caught = world.derive(source, executor(place), wantsRejection: true) {
      [world] promise, outcome in
      if let rejection = outcome.rejection {
        rejection.isHandled = true
        body(rejection.failure)
      }
      world.finish(promise, .value(0))
    }
    return map(caught) { $0 }
  }

  func finally(
    _ source: ReferencePromise, _ place: Place, _ body: @escaping @Sendable () throws -> Void
  ) -> ReferencePromise {
    world.derive(source, executor(place), wantsValue: true, wantsRejection: true) {
      [world] promise, outcome in
      do {
        try body()
        world.finish(promise, outcome)
      } catch {
        world.reject(promise, Failure(error))
      }
    }
  }

  func reduce(
    _ source: ReferencePromise, _ place: Place, _ elements: [Int],
    _ body: @escaping @Sendable (Int, Int) throws -> ReferencePromise
  ) -> ReferencePromise {
    guard let first = elements.first else { return source }
    return then(source, place) { [self] value in
      reduce(try body(value, first), place, Array(elements.dropFirst()), body)
    }
  }

  func gather(_ gathering: Gathering, _ inputs: [ReferencePromise]) -> ReferencePromise {
    switch gathering {
    case .race: world.race(inputs)
    case .any: world.any(inputs)
    case .all: map(world.all(inputs)) { $0 }
    case .allSettled: map(world.allSettled(inputs)) { $0 }
    }
  }

  func uncancellable(_ source: ReferencePromise) -> ReferencePromise {
    world.derive(source, isShield: true) { [world] promise, outcome in
      world.finish(promise, outcome)
    }
  }

  func limited(
    _ limiter: Int, _ body: @escaping @Sendable () throws -> ReferencePromise
  ) -> ReferencePromise {
    let limiter = limiters[limiter]
    let isFree = limiter.running < limiter.limit && limiter.waiting.isEmpty
    let gate = ReferencePromise(.resolver(CancelHooks()))
    var hasStarted = isFree
    if isFree {
      limiter.running += 1
      world.settle(gate, .value(0))
    }
    let result = onEnd(then(gate) { _ in try body() }) { [self] in
      guard hasStarted else { return }
      limiter.running -= 1
      startNext(limiter)
    }
    if isFree { return result }
    tickets += 1
    let ticket = tickets
    limiter.waiting.append(
      (
        ticket,
        { [world] in
          hasStarted = true
          world.settle(gate, .value(0))
        }
      ))
    world.onCancel(gate) { limiter.waiting.removeAll { $0.ticket == ticket } }
    return result
  }

  func coalesced(_ key: Int, _ body: () throws -> ReferencePromise) -> ReferencePromise {
    if let work = coalesced[key] { return copy(work.promise) }
    let work = CoalescedWork()
    coalesced[key] = work
    // The callers are the consumers of the work: if all cancel, it is cancelled.
    let result = copy(work.promise)
    world.onCancel(work.promise) { [self] in forget(work, key) }
    let inner: ReferencePromise
    do { inner = try body() } catch {
      inner = ReferencePromise(.nothing)
      world.reject(inner, Failure(error))
    }
    world.follow(work.promise, inner, keeping: nil) { [self] in forget(work, key) }
    return result
  }

  /// Returns a promise with the same result, which is another consumer of `source`.
  private func copy(_ source: ReferencePromise) -> ReferencePromise {
    world.derive(source) { [world] promise, outcome in world.finish(promise, outcome) }
  }

  private func forget(_ work: CoalescedWork, _ key: Int) {
    if coalesced[key] === work { coalesced[key] = nil }
  }

  /// Returns a promise with the same result; `body` runs before the promise settles.
  private func onEnd(_ source: ReferencePromise, _ body: @escaping () -> Void) -> ReferencePromise {
    world.derive(source, hearsAbandonment: true) { [world] promise, outcome in
      body()
      world.finish(promise, outcome)
    }
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

  func resolve(_ resolver: ReferenceResolver, with promise: ReferencePromise) {
    world.follow(resolver.promise, promise, keeping: resolver)
  }

  func onCancel(_ resolver: ReferenceResolver, _ body: @escaping @Sendable () -> Void) {
    world.onCancel(resolver.promise, body)
  }

  func cancel(_ promise: ReferencePromise) { world.cancel(promise) }

  func outcome(_ promise: ReferencePromise) -> Outcome {
    switch promise.outcome {
    case nil, .abandoned: .pending
    case .value(let value): .value(value)
    case .rejection(let rejection): .failed(rejection.failure)
    }
  }

  // MARK: Executors and time

  /// Handlers on queues have no defined order; here they run in place.
  private func executor(_ place: Place) -> Executor? {
    guard kind == .sequential, place != .immediate else { return nil }
    return executors[place == .second ? 1 : 0]
  }

  /// Not checked, because the reference defines the expected behavior.
  func isAt(_ place: Place) -> Bool { true }

  func runJob(_ place: Place) -> Bool {
    guard let executor = executor(place), !executor.jobs.isEmpty else { return false }
    world.start(executor.jobs.removeFirst())
    return true
  }

  func timeout(_ source: ReferencePromise, ticks: Int) -> ReferencePromise {
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
