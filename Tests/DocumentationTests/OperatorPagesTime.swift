import Pledge
import PledgeTesting
import Testing

// The examples of the pages on operators that control time, and tests of what their diagrams show.

// MARK: Timeout.md

private func limiting() {
  let news = fetchNews().timeout(after: .seconds(5))

  let end = ContinuousClock.now.advanced(by: .seconds(10))
  let avatar = fetchUser(id: 7)
    .then { user in fetchAvatar(of: user) }
    .deadline(end)

  _ = Promise.retry(.fixed(attempts: 3)) { fetchNews().timeout(after: .seconds(5)) }
  _ = (news, avatar)
}

// MARK: Delay.md

private func waiting() -> Promise<Void> {
  let pause = Promise.after(.seconds(1))
  let news = fetchNews().delay(.milliseconds(300))

  _ = news
  return pause
}

// MARK: Retry.md

private func retrying(_ budget: RetryBudget) -> [RetryPolicy] {
  let policy = RetryPolicy.exponential(attempts: 5, from: .milliseconds(200))
    .withJitter()
    .retrying(only: Offline.self)
  let news = Promise.retry(policy) { fetchNews() }

  _ = news
  _ = Promise.retry(.fixed(attempts: 2)) { fetchNews() }
  return [
    .exponential(attempts: 5, from: .milliseconds(200)).withJitter(),
    .fixed(attempts: 3).withBudget(budget),
  ]
}

// MARK: Hedged.md

private func hedging() {
  let page = Promise.hedged(delay: .milliseconds(50)) { downloadPage(from: "mirror-1") }

  _ = Promise.hedged(delay: .milliseconds(50)) { downloadPage(from: "a") }
  _ = page
}

// MARK: SupersedingWork.md

@MainActor
final class Preview {
  private let latest = LatestOnly<Page>(debounce: .milliseconds(200))
  private(set) var text = ""

  func show(_ name: String) {
    latest.run { downloadPage(from: name) }
      .done(weak: self) { preview, page in preview.text = page.text }
      .ignoreErrors()
  }
}

@Suite struct OperatorPagesTime {
  private let clock = TestClock()

  @Test func timeout_passesInTime_andRejectsAfterwards() async throws {
    limiting()
    let inTime = Promise.value(7).timeout(after: .seconds(5), clock: clock)
    try await expectFulfillment(of: inTime, with: 7)
    let (page, resolver) = Promise<Page>.withResolvers()
    let late = page.timeout(after: .seconds(5), clock: clock)
    await clock.run(until: late)
    try await expectRejection(of: late, with: TimeoutError(duration: .seconds(5)))
    try await expectCancellation(of: page)
    withExtendedLifetime(resolver) {}
  }

  @Test func delay_postponesValues_butNotErrors() async throws {
    waiting().cancel()
    let news = Promise.value("rain").delay(.seconds(3), clock: clock)
    await clock.sleepers(atLeast: 1)
    try expectPending(news)
    await clock.advance(by: .seconds(3))
    try await expectFulfillment(of: news, with: "rain")
    let failed = Promise<Int>.rejected(Offline()).delay(.seconds(3), clock: clock)
    try await expectRejection(of: failed, with: Offline.self)
  }

  @Test func retry_waitsBetweenAttempts_andGivesUp() async throws {
    #expect(retrying(RetryBudget()).map { $0.attempts } == [5, 3])
    let attempts = CallCounter()
    let policy = RetryPolicy.exponential(attempts: 3, from: .seconds(1))
    let third = Promise.retry(policy, clock: clock) {
      attempts.call() < 3 ? Promise<Int>.rejected(Offline()) : .value(3)
    }
    let began = clock.now
    await clock.run(until: third)
    try await expectFulfillment(of: third, with: 3)
    #expect(began.duration(to: clock.now) == .seconds(3))
    let failed = Promise.retry(.fixed(attempts: 2), clock: clock) {
      Promise<Int>.rejected(Offline())
    }
    await clock.run(until: failed)
    await #expect(throws: Offline.self) { try await failed.value }
  }

  @Test func hedged_secondAttemptOvertakes_orBothFail() async throws {
    hedging()
    let (slow, resolver) = Promise<Int>.withResolvers()
    let attempts = CallCounter()
    let page = Promise.hedged(delay: .milliseconds(50), clock: clock) {
      attempts.call() == 1 ? slow : .value(2)
    }
    await clock.run(until: page)
    try await expectFulfillment(of: page, with: 2)
    try await expectCancellation(of: slow)
    let failed = Promise.hedged(delay: .milliseconds(50), clock: clock) {
      Promise<Int>.rejected(Offline())
    }
    try await expectRejection(of: failed, with: Offline.self)
    withExtendedLifetime(resolver) {}
  }

  @Test @MainActor func latest_cancelsTheOneBefore_andTheNewestCanFail() async throws {
    let preview = Preview()
    preview.show("a")
    preview.show("b")
    try await waitUntil { !preview.text.isEmpty }
    #expect(preview.text == "b")

    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    let first = latest.run { .value(1) }
    let second = latest.run { .rejected(Offline()) }
    try await expectCancellation(of: first)
    await clock.run(until: second)
    try await expectRejection(of: second, with: Offline.self)
  }
}
