/// A request's trace, as a tracing library stores it.
private enum Tracing {
  @TaskLocal static var requestID: String?
  @TaskLocal static var depth = 0
  @TaskLocal static var unregistered: String?
}

/// Task-local values in handlers.
///
/// It runs in a process of its own, because every handler of a process captures each registered
/// key, and the handlers of other tests would pay for that.
@Suite struct TaskLocalTests {
  @Test func valuesFollow_inAProcessOfTheirOwn() async {
    await #expect(processExitsWith: .success) { try await HandlersWithKeys().runAll() }
  }
}

private struct HandlersWithKeys {
  init() {
    TaskLocals.propagate(Tracing.$requestID)
    TaskLocals.propagate(Tracing.$requestID)
    TaskLocals.propagate(Tracing.$depth)
  }

  func runAll() async throws {
    for when in When.allCases {
      for place in Place.all {
        try await handlers_findTheValues_ofWhereTheyWereWritten(when: when, place: place)
      }
    }
    try await handlersOfOnePromise_findEachTheirOwn_andNotTheSettlers()
    try await handlersOnAnActor_findNothingOfTheSettlers()
    try await allKeysFollow_andOnlyThoseRegistered()
    try await errorHandlersAndCleanUp_findThemToo()
    try await laterAttempts_andOperationsThatWaited_findThem()
    try await onCancel_findsTheValues_ofWhereItWasWritten()
    try await onCancel_ofTheMainActor_findsItsOwnValues()
    try await handlersOnAnActor_runAtThePriority_ofTheTaskThatSettles()
  }

  func handlers_findTheValues_ofWhereTheyWereWritten(when: When, place: Place) async throws {
    let written = Tracing.$requestID.withValue("request 1") {
      when.fulfill(0) { promise in
        promise.map(on: place.executor) { _ in Tracing.requestID }
          .then(on: place.executor) { first in
            // Created in a handler, so it captures the values of that handler.
            Promise.value(()).map(on: place.executor) { [first, Tracing.requestID] }
          }
      }
    }
    try await expectFulfillment(of: written, with: ["request 1", "request 1"])
  }

  func handlersOfOnePromise_findEachTheirOwn_andNotTheSettlers() async throws {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let seen = Recorder<String>()
    for id in ["a", "b"] {
      Tracing.$requestID.withValue(id) {
        promise.observe(on: .immediate) { _ in seen.record(Tracing.requestID ?? "none") }
      }
    }
    promise.observe(on: .immediate) { _ in seen.record(Tracing.requestID ?? "none") }
    Tracing.$requestID.withValue("settler") { _ = resolver.fulfill() }
    #expect(seen.events == ["a", "b", "none"])
    #expect(Tracing.requestID == nil)
  }

  // An unregistered key has its default value, rather than the value of the task that settles.
  func handlersOnAnActor_findNothingOfTheSettlers() async throws {
    actor Place {}
    let (promise, resolver) = Promise<Void>.withResolvers()
    let seen = promise.map(on: .actor(Place())) { Tracing.unregistered }
    Tracing.$unregistered.withValue("of another request") { _ = resolver.fulfill() }
    #expect(try await seen.value == nil)
  }

  func allKeysFollow_andOnlyThoseRegistered() async throws {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let seen = Tracing.$requestID.withValue("request") {
      Tracing.$depth.withValue(3) {
        Tracing.$unregistered.withValue("left behind") {
          promise.map(on: .global) {
            "\(Tracing.requestID ?? "-") \(Tracing.depth) \(Tracing.unregistered ?? "-")"
          }
        }
      }
    }
    resolver.fulfill()
    try await expectFulfillment(of: seen, with: "request 3 -")
  }

  func errorHandlersAndCleanUp_findThemToo() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let seen = Recorder<String>()
    let end = Tracing.$requestID.withValue("failing") {
      promise
        .recover(on: .immediate) { error -> Promise<Int> in
          seen.record("recover \(Tracing.requestID ?? "-")")
          throw error
        }
        .finally(on: .immediate) { seen.record("finally \(Tracing.requestID ?? "-")") }
        .catch(on: .immediate) { _ in seen.record("catch \(Tracing.requestID ?? "-")") }
    }
    resolver.reject(Boom())
    await end.value
    #expect(seen.events == ["recover failing", "finally failing", "catch failing"])
  }

  func laterAttempts_andOperationsThatWaited_findThem() async throws {
    let (clock, limiter, seen) = (TestClock(), Limiter(1), Recorder<String>())
    let first = Promise<Void>.withResolvers()
    let busy = limiter.run { first.promise }
    let waited = Tracing.$requestID.withValue("waited") {
      limiter.run { .value(seen.record("limiter \(Tracing.requestID ?? "-")")) }
    }
    let retried = Tracing.$requestID.withValue("retried") {
      Promise<Void>.retry(.fixed(attempts: 2), clock: clock) {
        seen.record("attempt \(Tracing.requestID ?? "-")")
        return .rejected(Boom())
      }
    }
    first.resolver.fulfill()
    try await expectFulfillment(of: waited)
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(1))
    try await expectRejection(of: retried, with: Boom.self)
    #expect(seen.events == ["attempt retried", "limiter waited", "attempt retried"])
    try await expectFulfillment(of: busy)
  }

  func onCancel_findsTheValues_ofWhereItWasWritten() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let seen = Recorder<String>()
    Tracing.$requestID.withValue("producer") {
      resolver.onCancel { seen.record(Tracing.requestID ?? "none") }
    }
    resolver.onCancel { seen.record(Tracing.requestID ?? "none") }
    Tracing.$requestID.withValue("canceller") { promise.cancel() }
    #expect(seen.events == ["producer", "none"])
  }

  @MainActor func onCancel_ofTheMainActor_findsItsOwnValues() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (found, report) = Promise<String>.withResolvers()
    Tracing.$requestID.withValue("producer") {
      resolver.onCancel { @MainActor in report.fulfill(Tracing.requestID ?? "none") }
    }
    Tracing.$requestID.withValue("canceller") { promise.cancel() }
    #expect(try await found.value == "producer")
  }

  func handlersOnAnActor_runAtThePriority_ofTheTaskThatSettles() async throws {
    actor Place {}
    let (gate, open) = Promise<Void>.withResolvers()
    let high = Promise(priority: .high) { () async throws -> TaskPriority in
      try await gate.value
      return Task.currentPriority
    }
    let both = Promise.all(high, high.map(on: .actor(Place())) { _ in Task.currentPriority })
    open.fulfill()
    let (task, handler) = try await both.value
    #expect(task == .high)
    #expect(handler >= .high)
  }
}
