import Pledge
import PledgeTesting
import Testing

/// A thread that serves many promises runs and releases nothing of the program's.
@Suite struct SharedThreads {
  @Test func handlerInPlace_canWaitForALaterOne() async throws {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let (second, secondResolver) = Promise<Int>.withResolvers()
    let first = promise.map(on: .immediate) { try second.wait() }
    promise.done(on: .immediate) { secondResolver.fulfill(1) }.cauterize()
    SharedThread.perform { resolver.fulfill() }
    try await expectFulfillment(of: first, with: 1)
  }

  @Test func handlersOfACustomExecutor_keepTheirOrder_alsoIfOneIsAttachedMeanwhile() async throws {
    let executor = PumpedExecutor()
    let calls = Recorder<Int>()
    let late = Box<[Promise<Void>]>([])
    let (promise, resolver) = Promise<Void>.withResolvers()
    let first = promise.done(on: executor) { calls.record(1) }
    let inPlace = promise.done(on: .immediate) { calls.record(3) }
    SharedThread.perform {
      resolver.fulfill()
      onNewThread { late.value = [promise.done(on: executor) { calls.record(2) }] }
      #expect(calls.count == 0)
    }
    for promise in [first, inPlace] + late.value { try await expectFulfillment(of: promise) }
    #expect(calls.events.filter { $0 != 3 } == [1, 2])
  }

  @Test func nestedCalls_postponeWorkUntilTheOutermostHasEnded() async throws {
    let calls = Recorder<Int>()
    let (first, firstResolver) = Promise<Void>.withResolvers()
    let (second, secondResolver) = Promise<Void>.withResolvers()
    let handlers = [
      first.done(on: .immediate) { calls.record(1) },
      second.done(on: .immediate) { calls.record(2) },
    ]
    SharedThread.perform {
      SharedThread.perform { firstResolver.fulfill() }
      secondResolver.fulfill()
      #expect(!calls.events.contains(2))
    }
    try await waitForPromises(handlers)
    #expect(calls.events == [1, 2])
  }

  @Test func longChain_continuesElsewhere() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    var last = promise
    for _ in 0..<10_000 { last = last.map { $0 } }
    SharedThread.perform {
      resolver.reject(Boom())
      #expect(last.isPending)
    }
    try await expectRejection(of: last, with: Boom())
  }

  @Test func longListOfHandlers_continuesElsewhere() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let handlers = (0..<10_000).map { _ in promise.map { $0 } }
    SharedThread.perform {
      resolver.reject(Boom())
      #expect(!handlers.contains { !$0.isPending })
    }
    for handler in handlers { try await expectRejection(of: handler, with: Boom()) }
  }

  @Test func longClimbOfACancellation_continuesElsewhere() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (reached, reachedResolver) = Promise<Void>.withResolvers()
    resolver.onCancel { reachedResolver.fulfill() }
    var last = promise
    for _ in 0..<2_000 { last = last.map { $0 } }
    SharedThread.perform {
      last.cancel()
      #expect(last.isPending)
    }
    try await expectFulfillment(of: reached)
    try await expectCancellation(of: last)
  }

  @Test func capturesOfOnCancel_areReleasedElsewhere() async throws {
    let tracker = LifetimeTracker()
    let (inner, innerResolver) = Promise<Int>.withResolvers()
    let (outer, outerResolver) = Promise<Int>.withResolvers()
    outerResolver.onCancel { [token = tracker.track()] in withExtendedLifetime(token) {} }
    outerResolver.resolve(with: inner)
    SharedThread.perform {
      innerResolver.fulfill(1)
      #expect(tracker.liveCount == 1)
    }
    try await tracker.expectNoneAlive()
    try await expectFulfillment(of: outer, with: 1)
  }

  @Test func valueThatOnlyATimerHolds_isReleasedElsewhere() async throws {
    let clock = TimersByHand()
    let tracker = LifetimeTracker()
    do {
      let (promise, resolver) = Promise<LifetimeTracker.Token>.withResolvers()
      promise.timeout(after: .seconds(1), clock: clock).cauterize()
      resolver.fulfill(tracker.track())
    }
    // As if the promise had settled while the timer fired.
    var actions = clock.takeActions()
    SharedThread.perform {
      while let action = actions.popLast() { action() }
      #expect(tracker.liveCount == 1)
    }
    try await tracker.expectNoneAlive()
  }

  @Test func timerOfAProgramsClock_isCancelledElsewhere() async throws {
    let clock = CancelledClock()
    let (promise, resolver) = Promise<Int>.withResolvers()
    let timed = promise.timeout(after: .seconds(60), clock: clock)
    try await expectFulfillment(of: clock.events.reaches(1).promise)
    SharedThread.perform {
      resolver.fulfill(1)
      #expect(clock.events.events == ["sleeping"])
    }
    try await expectFulfillment(of: timed, with: 1)
    try await expectFulfillment(of: clock.events.reaches(2).promise)
  }
}

/// A clock that records that a sleep is cancelled.
private struct CancelledClock: Clock {
  let events = Recorder<String>()
  private let base = ContinuousClock()

  var now: ContinuousClock.Instant { base.now }
  var minimumResolution: Duration { base.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await withTaskCancellationHandler {
      events.record("sleeping")
      try await base.sleep(until: deadline, tolerance: tolerance)
    } onCancel: {
      events.record("cancelled")
    }
  }
}
