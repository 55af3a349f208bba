import Dispatch
import PledgeTesting

/// One run of a program on one system.
///
/// `@unchecked Sendable`: `state` is guarded by its lock, the rest is immutable.
final class Run<Engine: System>: @unchecked Sendable {
  private struct State {
    var promises: [Int: Engine.Promise] = [:]
    var resolvers: [Int: Engine.Resolver] = [:]
    /// The executor on which each step's handler must run.
    var places: [Int: Place] = [:]
    var trace = Trace()
    var ticks = 0
  }

  private let run: Int
  private let system: Engine
  /// Tracks the tokens that the handlers capture.
  let lifetimes = LifetimeTracker()
  private let state = Lock(State())

  init(run: Int, on system: Engine) { (self.run, self.system) = (run, system) }

  /// Runs `program`, drops all resolvers, lets all timers fire, and drops all promises.
  func trace(of program: Program) -> Trace {
    for step in program.steps { perform(step) }
    settle { $0.outcomesAtEnd = $1 }
    finish(program)
    settle { $0.finalOutcomes = $1 }
    let promises = state.withLock { state in
      defer { state.promises = [:] }
      return state.promises
    }
    withExtendedLifetime(promises) {}
    return state.withLock { $0.trace }
  }

  /// Records the results of all promises.
  private func settle(_ note: (inout Trace, [Int: Outcome]) -> Void) {
    let outcomes = state.withLock { $0.promises }.mapValues { system.outcome($0) }
    state.withLock { note(&$0.trace, outcomes) }
  }

  private func finish(_ program: Program) {
    let ids = program.allSteps.map(\.id)
    if program.kind == .sequential {
      // Handlers that run in the meantime can create promises.
      repeat {
        drain()
        dropResolvers(ids)
        drain()
      } while system.passTime(to: 1_000_000) || state.withLock { !$0.resolvers.isEmpty }
    } else {
      // If this never happens, the trace shows the cause.
      var time = 0
      _ = Patience.isDoneInTime(limit: 10) {
        dropResolvers(ids)
        // Later each time, because a handler that runs in the meantime can start a timer.
        time += 1_000_000
        _ = system.passTime(to: time)
        return isAtRest(program)
      }
    }
  }

  /// Whether no handler can run anymore, and no promise is pending, unless the program abandons some.
  private func isAtRest(_ program: Program) -> Bool {
    // Checked first, because the last handler can create promises.
    guard lifetimes.liveCount == 0 else { return false }
    let (promises, hasResolvers) = state.withLock { ($0.promises, !$0.resolvers.isEmpty) }
    guard !hasResolvers else { return false }
    return program.abandons || promises.values.allSatisfy { system.outcome($0) != .pending }
  }

  private func dropResolvers(_ ids: [Int]) {
    for id in ids {
      let dropped = state.withLock { $0.resolvers.removeValue(forKey: id) }
      withExtendedLifetime(dropped) {}
    }
  }

  private func drain() { while [Place.first, .second].contains(where: system.runJob) {} }

  // MARK: Steps

  private func promise(_ id: Int) -> Engine.Promise? { state.withLock { $0.promises[id] } }
  private func resolver(_ id: Int) -> Engine.Resolver? { state.withLock { $0.resolvers[id] } }

  private func define(_ id: Int, _ promise: Engine.Promise) {
    state.withLock { $0.promises[id] = promise }
  }

  private func note(_ id: Int, _ kind: Event.Kind) {
    state.withLock { state in
      if case .ran = kind, let place = state.places[id], !system.isAt(place) {
        state.trace.misplaced.insert(id)
      }
      state.trace.events.append(Event(id: id, kind: kind))
      state.trace.operationCount += 1
    }
  }

  private func perform(_ step: Step) {
    switch step.operation {
    case .parallel(let threads): return runInParallel(threads)
    case .advance(let ticks): return pass(ticks)
    default: act(step)
    }
    state.withLock { $0.trace.operationCount += 1 }
  }

  private func runInParallel(_ threads: [[Step]]) {
    DispatchQueue.concurrentPerform(iterations: threads.count) { threads[$0].forEach(perform) }
  }

  private func pass(_ ticks: Int) {
    let end = state.withLock { state in
      state.ticks += ticks
      return state.ticks
    }
    while system.passTime(to: end) {}
  }

  private func act(_ step: Step) {
    let id = step.id
    switch step.operation {
    case .pending:
      let (promise, resolver) = system.pending(id)
      state.withLock { ($0.promises[id], $0.resolvers[id]) = (promise, resolver) }
    case .value: define(id, system.value(id))
    case .rejected: define(id, system.rejected(StressError(run: run, id: id)))
    case .gather(let gathering, let inputs):
      let inputs = inputs.compactMap { promise($0) }
      if !inputs.isEmpty { define(id, system.gather(gathering, inputs)) }
    case .limited(let limiter, let body):
      let token = lifetimes.track("handler \(id)")
      define(id, system.limited(limiter) { [self] in try promise(of: body, id, nil, token) })
    case .coalesced(let key, let body):
      let token = lifetimes.track("handler \(id)")
      define(id, system.coalesced(key) { try promise(of: body, id, nil, token) })
    case .fulfill(let target):
      guard let resolver = resolver(target) else { return }
      note(id, .settled(resolver: target, system.fulfill(resolver, id)))
    case .reject(let target):
      guard let resolver = resolver(target) else { return }
      let won = system.reject(resolver, StressError(run: run, id: id))
      note(id, .settled(resolver: target, won))
    case .abandon(let target):
      if let resolver = resolver(target) { system.abandon(resolver) }
    case .resolve(let target, let other):
      guard let resolver = resolver(target), let promise = promise(other) else { return }
      system.resolve(resolver, with: promise)
    case .onCancel(let target, let steps):
      guard let resolver = resolver(target) else { return }
      let token = lifetimes.track("onCancel \(id)")
      system.onCancel(resolver) { [self] in
        note(id, .toldToStop)
        for step in steps { act(step) }
        withExtendedLifetime(token) {}
      }
    case .cancel(let target):
      if let promise = promise(target) { system.cancel(promise) }
    case .dropPromise(let target):
      let dropped = state.withLock { $0.promises.removeValue(forKey: target) }
      withExtendedLifetime(dropped) {}
    case .dropResolver(let target):
      let dropped = state.withLock { $0.resolvers.removeValue(forKey: target) }
      withExtendedLifetime(dropped) {}
    case .runNext(let place): runUntilOneHasRun(place)
    case .runAll(let place): while system.runJob(place) {}
    case .parallel, .advance: break
    default: attach(step)
    }
  }

  /// Runs jobs until one runs a handler; the jobs of cancelled handlers have no effect.
  private func runUntilOneHasRun(_ place: Place) {
    let before = state.withLock { $0.trace.events.count }
    while system.runJob(place), state.withLock({ $0.trace.events.count }) == before {}
  }

  private func attach(_ step: Step) {
    let id = step.id
    guard let source = step.operation.source.flatMap({ promise($0) }) else { return }
    let token = lifetimes.track("handler \(id)")
    if let place = step.operation.place { state.withLock { $0.places[id] = place } }
    let result: Engine.Promise? =
      switch step.operation {
      case .map(_, let place, let body):
        system.map(source, place) { [self] in try number(of: body, id, .value($0), token) }
      case .then(_, let place, let body):
        system.then(source, place) { [self] in try promise(of: body, id, .value($0), token) }
      case .recover(_, let place, let body):
        system.recover(source, place) { [self] in try promise(of: body, id, .failed($0), token) }
      case .catch(_, let place, let body):
        system.catch(source, place) { [self] in _ = try? number(of: body, id, .failed($0), token) }
      case .finally(_, let place, let body):
        system.finally(source, place) { [self] in _ = try number(of: body, id, nil, token) }
      case .reduce(_, let place, let count, let body):
        system.reduce(source, place, Array(0..<count)) { [self] value, element in
          try promise(of: body, id, .value(mixed([value, element])), token)
        }
      case .adopt(_, let times):
        (0..<times).reduce(source) { [system] inner, _ in
          system.then(system.value(0), .immediate) { _ in inner }
        }
      case .timeout(_, let ticks): system.timeout(source, ticks: ticks)
      case .uncancellable: system.uncancellable(source)
      default: nil
      }
    if let result { define(id, result) }
  }

  // MARK: Handlers

  /// Runs the body of a handler that returns a number, and that captures `token`.
  private func number(
    of body: Body, _ id: Int, _ input: Outcome?, _ token: LifetimeTracker.Token
  ) throws -> Int {
    note(id, .ran(input))
    for step in body.steps { act(step) }
    if body.result == .throwing { throw StressError(run: run, id: id) }
    return handlerValue(id, input)
  }

  /// Runs the body of a handler that returns a promise, and that captures `token`.
  private func promise(
    of body: Body, _ id: Int, _ input: Outcome?, _ token: LifetimeTracker.Token
  ) throws -> Engine.Promise {
    let value = try number(of: body, id, input, token)
    if case .promise(let other) = body.result, let promise = promise(other) { return promise }
    return system.value(value)
  }
}

/// The value that a handler returns if its body specifies nothing else.
func handlerValue(_ id: Int, _ input: Outcome?) -> Int {
  switch input {
  case .value(let value): mixed([id, value])
  case .failed(let failure): mixed([id, failure.number])
  case nil, .pending: mixed([id])
  }
}
