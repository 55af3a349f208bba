import Dispatch
import PledgeTesting
import Testing

@testable import Pledge

/// Contract, line 13, on the real clock: nothing is left in the heap of timers.
///
/// One test at a time, as they count what is in the heap; no other test uses the real clock.
@Suite(.serialized) struct Timers {
  private var count: Int { TimerHeap.shared.count }

  @Test func line13_cancelledTimer_isReleasedAtOnce() async throws {
    let promise = Promise<Void>.after(.seconds(3600))
    #expect(count == 1)
    promise.cancel()
    #expect(count == 0)
    try await expectCancellation(of: promise)
  }

  @Test func line13_timerThatNobodyWaitsFor_goesWithItsPromise() async throws {
    var promise: Promise<Void>? = .after(.seconds(3600))
    #expect(count == 1)
    promise = nil
    #expect(count == 0 && promise == nil)

    // A chain is somebody who waits.
    let (done, resolver) = Promise<Void>.withResolvers()
    Promise<Void>.after(.milliseconds(1)).done(on: .immediate) { resolver.fulfill() }.cauterize()
    try await expectFulfillment(of: done)
  }

  @Test func line13_timerOfAnOperation_isReleasedAtOnce() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let inTime = promise.timeout(after: .seconds(3600))
    let shared = promise.timeout(after: .seconds(3601))
    #expect(count == 2)
    shared.cancel()
    #expect(count == 1)
    resolver.fulfill(1)
    #expect(count == 0)
    try await expectFulfillment(of: inTime, with: 1)
    let delayed = Promise.value(1).delay(.seconds(3600))
    #expect(count == 1)
    delayed.cancel()
    #expect(count == 0)
    try await expectCancellation(of: delayed)
  }

  @Test func line13_timerThatLostARace_isReleasedAtOnce() async throws {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let race = Promise.race([promise, .after(.seconds(3600)), .after(.seconds(3601))])
    #expect(count == 2)
    resolver.fulfill()
    #expect(count == 0)
    try await expectFulfillment(of: race)
    let any = Promise.any([.value(()), .after(.seconds(3600))])
    try await expectFulfillment(of: any)
    #expect(count == 0)
    let all = Promise.all([.rejected(Boom()), .after(.seconds(3600))], cancellingRest: true)
    try await expectRejection(of: all.asVoid(), with: Boom())
    #expect(count == 0)
  }

  @Test func line13_retrysDelay_isReleasedAtOnce() async throws {
    let promise = Promise<Int>.retry(on: .immediate, .fixed(attempts: 3, delay: .seconds(3600))) {
      .rejected(Boom())
    }
    #expect(count == 1)
    promise.cancel()
    #expect(count == 0)
    try await expectCancellation(of: promise)
  }

  @Test func line13_abandonedAwait_releasesTheTimer() async throws {
    let promise = Promise<Void>.after(.seconds(3600))
    let task = Task { try await promise.value }
    task.cancel()
    _ = await task.result
    #expect(count == 0)
  }

  @Test func line13_deadlineInThePast_needsNoTimer() async throws {
    let never = Promise<Int>.withResolvers()
    let late = never.promise.deadline(.now - .seconds(1))
    try await expectRejection(of: late, with: TimeoutError.self)
    #expect(count == 0)
    let (promise, resolver) = Promise<Int>.withResolvers()
    let inTime = promise.deadline(.now + .seconds(3600))
    #expect(count == 1)
    resolver.fulfill(1)
    try await expectFulfillment(of: inTime, with: 1)
    #expect(count == 0)
  }

  @Test func absurdDurations_areTaken() async throws {
    for duration in [
      Duration.seconds(Int64.max), .seconds(Int64.max / 2), .seconds(100 * 365 * 86_400),
    ] {
      let promise = Promise<Void>.after(duration)
      #expect(count == 1)
      promise.cancel()
      #expect(count == 0)
    }
  }

  @Test func timersFireInOrder_andNotEarly() async throws {
    let order = Recorder<Int>()
    let start = ContinuousClock.now
    let timers = [300, 100, 200, 0, 250].map { milliseconds in
      Promise<Void>.after(.milliseconds(milliseconds)).get(on: .immediate) { _ in
        #expect(ContinuousClock.now - start >= .milliseconds(milliseconds))
        order.record(milliseconds)
      }
    }
    try await waitForPromises(timers)
    #expect(order.events == [0, 100, 200, 250, 300])
    #expect(count == 0)
  }

  @Test func manyTimers_inAndOutOfTheHeap_atRandom() async throws {
    var random = SeededRandom(seed: 7)
    var timers: [Promise<Void>] = []
    for _ in 0..<2_000 {
      timers.append(.after(.seconds(Int.random(in: 1_000...9_000, using: &random))))
      if Int.random(in: 0..<3, using: &random) == 0 {
        timers.remove(at: Int.random(in: 0..<timers.count, using: &random)).cancel()
      }
      #expect(count == timers.count)
    }
    for timer in timers.shuffled(using: &random) { timer.cancel() }
    #expect(count == 0)
  }
}
