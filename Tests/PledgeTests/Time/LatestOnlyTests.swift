import Pledge
import PledgeTesting
import Testing

/// `LatestOnly.isRunning`.
@Suite struct LatestOnlyTests {
  let clock = TestClock()

  @Test func isRunning_fromTheCallToTheEnd() async throws {
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    #expect(!latest.isRunning)
    let (work, resolver) = Promise<Int>.withResolvers()
    let promise = latest.run { work }
    #expect(latest.isRunning)
    await clock.advance(by: .seconds(1))
    #expect(latest.isRunning)
    let atTheEnd = Recorder<Bool>()
    promise.finally(on: .immediate) { atTheEnd.record(latest.isRunning) }.ignoreErrors()
    resolver.fulfill(1)
    try await expectFulfillment(of: promise, with: 1)
    #expect(atTheEnd.events == [false])
  }

  @Test func finallyOfASupersededOperation_findsTheNextOneRunning() async throws {
    let latest = LatestOnly<Int>()
    let seen = Recorder<Bool>()
    let first = latest.run { .never }
    first.finally(on: .immediate) { seen.record(latest.isRunning) }.ignoreErrors()
    let (work, resolver) = Promise<Int>.withResolvers()
    let second = latest.run { work }
    second.finally(on: .immediate) { seen.record(latest.isRunning) }.ignoreErrors()
    #expect(seen.events == [true])
    resolver.fulfill(2)
    try await expectFulfillment(of: second, with: 2)
    try await expectCancellation(of: first)
    #expect(seen.events == [true, false])
  }

  @Test func cancelled_byItselfOrByItsPromise_isNotRunning() async throws {
    let latest = LatestOnly<Int>()
    let first = latest.run { .never }
    latest.cancel()
    #expect(!latest.isRunning)
    try await expectCancellation(of: first)
    let second = latest.run { .never }
    second.cancel()
    try await expectCancellation(of: second)
    #expect(!latest.isRunning)
    let failed = latest.run { .rejected(Boom()) }
    try await expectRejection(of: failed, with: Boom())
    #expect(!latest.isRunning)
  }
}
