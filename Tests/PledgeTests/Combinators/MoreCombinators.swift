import Dispatch
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

/// `PromiseScope`, `done(weak:)` and `LatestOnly`.
@Suite struct ScopeTests {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  @Test func aScope_cancelsItsWork_whenItGoes() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let bound: Promise<Int>
    do {
      let scope = PromiseScope()
      bound = work.bound(to: scope)
      #expect(scope.pendingCount == 1)
    }
    try await expectCancellation(of: bound)
    try await expectCancellation(of: work)
    #expect(!resolver.isPending)
  }

  @Test func aScope_keepsNothingOfWhatHasSettled_andSparesWhatIsShared() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let scope = PromiseScope()
    let bound = work.bound(to: scope)
    let other = work.map { $0 + 1 }
    let settled = Promise.value(1).bound(to: scope)
    try await expectFulfillment(of: settled, with: 1)
    #expect(scope.pendingCount == 1)
    scope.cancelAll()
    #expect(scope.pendingCount == 0)
    try await expectCancellation(of: bound)
    resolver.fulfill(1)
    try await expectFulfillment(of: other, with: 2)
    let late = Promise.value(2).bound(to: scope)
    try await expectFulfillment(of: late, with: 2)
  }

  @MainActor final class Model {
    let scope = PromiseScope()
    var items: [Int] = []

    func load(_ promise: Promise<Int>) -> Promise<Void> {
      promise.bound(to: scope).done(weak: self) { model, item in model.items.append(item) }
    }
  }

  @MainActor @Test func anOwner_isNotKeptByItsWork() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    var model: Model? = Model()
    weak let owner = model
    let loaded = model?.load(.value(1))
    try await loaded?.value
    #expect(model?.items == [1])
    let pending = model?.load(work)
    model = nil
    #expect(owner == nil)
    if let pending { try await expectCancellation(of: pending) }
    #expect(!resolver.isPending)
  }

  @Test func aScope_runsAsyncOperations() async throws {
    let scope = PromiseScope()
    try await expectFulfillment(of: scope.run { try await Promise.value(3).value }, with: 3)
  }

  @Test func aScope_runsOperationsThatReturnPromises() async throws {
    let (work, resolver) = Promise<Int>.withResolvers()
    let scope = PromiseScope()
    let running = scope.run { work }
    #expect(scope.pendingCount == 1)
    scope.cancelAll()
    try await expectCancellation(of: running)
    try await expectCancellation(of: work)
    #expect(!resolver.isPending)
    try await expectFulfillment(of: scope.run { Guarantee.value(4) }, with: 4)
    try await expectRejection(
      of: scope.run { () throws -> Promise<Int> in throw Boom() }, with: Boom())
    #expect(scope.pendingCount == 0)
  }

  @Test func latest_cancelsTheOneBefore() async throws {
    let latest = LatestOnly<Int>()
    let (first, resolver) = Promise<Int>.withResolvers()
    let one = latest.run { first }
    let two = latest.run { Promise.value(2) }
    try await expectCancellation(of: one)
    try await expectFulfillment(of: two, with: 2)
    resolver.fulfill(1)
    let three = latest.run { try await Promise<Int>.never.value }
    latest.cancel()
    try await expectCancellation(of: three)
  }

  @Test func latest_waitsForTheDebounce() async throws {
    let clock = TestClock()
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    let starts = Recorder<Int>()
    var promises: [Promise<Int>] = []
    for n in 0..<3 {
      promises.append(
        latest.run {
          starts.record(n)
          return Promise.value(n)
        })
      await clock.sleepers(reach: 1)
      await clock.advance(by: .milliseconds(500))
    }
    await clock.run(until: promises[2])
    try await expectFulfillment(of: promises[2], with: 2)
    for n in 0..<2 { try await expectCancellation(of: promises[n]) }
    #expect(starts.events == [2])
  }

  @Test func latest_thatStartsANewerOne_sparesIt() async throws {
    let clock = TimersByHand()
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    let newer = Recorder<Promise<Int>>()
    clock.interrupt { newer.record(latest.run { Promise.value(2) }) }
    let older = latest.run { Promise.value(1) }
    try await expectCancellation(of: older)
    for action in clock.takeActions() { action() }
    try await expectFulfillment(of: newer.events[0], with: 2)
  }

  @Test func latest_thatIsCancelledWhileItStarts_isCancelled() async throws {
    let clock = TimersByHand()
    let latest = LatestOnly<Int>(debounce: .seconds(1), clock: clock)
    clock.interrupt { latest.cancel() }
    try await expectCancellation(of: latest.run { Promise.value(1) })
  }

  @Test func latest_thatGoes_cancels() async throws {
    let (work, _) = Promise<Int>.withResolvers()
    let promise: Promise<Int>
    do {
      let latest = LatestOnly<Int>(debounce: .seconds(3600))
      promise = latest.run { work }
    }
    try await expectCancellation(of: promise)
  }
}

@MainActor private func onMainActor() -> Int { 5 }

/// `hedged`.
@Suite struct HedgeTests {
  private let clock = TestClock()

  @Test func aSecondAttempt_startsAfterTheDelay_andWins() async throws {
    let first = Promise<Int>.withResolvers()
    let count = CallCounter()
    let promise = Promise.hedged(delay: .seconds(1), clock: clock) {
      count.call() == 1 ? first.promise : .value(2)
    }
    await clock.run(until: promise)
    try await expectFulfillment(of: promise, with: 2)
    try await expectCancellation(of: first.promise)
    #expect(clock.now.offset == .seconds(1))
  }

  @Test func guarantees_areHedged() async throws {
    let (first, resolver) = Guarantee<Int>.withResolvers()
    let count = CallCounter()
    let promise: Promise = Promise.hedged(delay: .seconds(1), clock: clock) {
      count.call() == 1 ? first : Guarantee.value(2)
    }
    await clock.run(until: promise)
    try await expectFulfillment(of: promise, with: 2)
    resolver.fulfill(1)
  }

  @Test func attempts_runOnTheExecutor() async throws {
    let executor = ManualExecutor()
    let count = CallCounter()
    let promise = Promise<Int>.hedged(on: executor, delay: .seconds(1), clock: clock) {
      count.call() == 1 ? .never : .value(2)
    }
    executor.runAll()
    #expect(count.count == 1)
    await clock.advance(by: .seconds(1))
    #expect(count.count == 1)
    executor.runAll()
    try await expectFulfillment(of: promise, with: 2)

    // The first attempt in place runs inside the call, the others when the delay is over.
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 0)
    let inPlace = CallCounter()
    let hedged = Promise<Int>.hedged(
      on: .immediate, attempts: 3, delay: .seconds(1), budget: budget, clock: clock
    ) {
      inPlace.call() == 1 ? .never : .rejected(Boom())
    }
    try inPlace.expectOnce()
    await clock.advance(by: .seconds(1))
    #expect(inPlace.count == 2)
    hedged.cancel()

    let onMain = Promise.hedged(delay: .seconds(1), clock: clock) { @MainActor in
      MainActor.assertIsolated()
      return Promise.value(3)
    }
    try await expectFulfillment(of: onMain, with: 3)
    let interval = Promise.hedged(delay: DispatchTimeInterval.seconds(1)) { Promise.value(4) }
    try await expectFulfillment(of: interval, with: 4)
    let either = Promise.hedged(delay: .seconds(1)) { @MainActor in Promise.value(onMainActor()) }
    try await expectFulfillment(of: either, with: 5)
  }

  @Test(arguments: 0..<100)
  func aQuickFirstAttempt_isTheOnlyOne(round: Int) async throws {
    let count = CallCounter()
    let promise = Promise.hedged(attempts: 3, delay: .seconds(1), clock: clock) {
      Promise.value(count.call())
    }
    try await expectFulfillment(of: promise, with: 1)
    await clock.sleepers(reach: 0)
    try count.expectOnce()
  }

  @Test func anAbandonedAttempt_isFollowedByTheNext_afterTheDelay() async throws {
    let (abandoned, resolver) = Promise<Int>.withResolvers()
    let count = CallCounter()
    let promise = Promise.hedged(on: .immediate, delay: .seconds(1), clock: clock) {
      count.call() == 1 ? abandoned : .value(2)
    }
    resolver.abandon()
    #expect(clock.sleeperCount == 1)
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: promise, with: 2)
  }

  @Test func aFailure_startsTheNextAtOnce_andAllFailuresAreReported() async throws {
    let seen = Recorder<String>()
    let promise = Promise<Int>.hedged(
      attempts: 2, delay: .seconds(3600), clock: clock,
      observer: { seen.record("\($0.number) \($0.delayInSeconds ?? -1)") }
    ) {
      .rejected(Boom())
    }
    try await expectRejection(of: promise, with: Boom.self)
    #expect(seen.events == ["1 0.0", "2 -1.0"])
    let none = Promise<Int>.hedged(attempts: 0, delay: .zero) { .value(1) }
    try await expectRejection(of: none, with: PromiseError.self)
  }

  @Test func anyNumberOfAttempts_areMadeOnlyWhenTheirTimeHasCome() async throws {
    let count = CallCounter()
    let stuck = Recorder<Promise<Int>>()
    let promise = Promise<Int>.hedged(attempts: .max, delay: .seconds(1), clock: clock) {
      switch count.call() {
      case 1, 3:
        let promise = Promise<Int>.never
        stuck.record(promise)
        return promise
      case 2: throw Boom()
      default: return .value(4)
      }
    }
    await stuck.reaches(1).value
    await clock.advance(by: .seconds(1))
    // The second attempt fails, which starts the third immediately.
    await stuck.reaches(2).value
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: promise, with: 4)
    #expect(count.count == 4)
    for promise in stuck.events { try await expectCancellation(of: promise) }
    #expect(clock.sleeperCount == 0)
  }

  @Test func theErrorIsThatOfTheFirstAttempt_howeverLateItComes() async throws {
    let seen = Recorder<Int>()
    let first = Promise<Int>.withResolvers()
    let count = CallCounter()
    let promise = Promise<Int>.hedged(
      attempts: 3, delay: .seconds(1), clock: clock, observer: { seen.record($0.number) }
    ) {
      let number = count.call()
      return number == 1 ? first.promise : .rejected(Boom(code: number))
    }
    while count.count < 1 { await Task.yield() }
    await clock.advance(by: .seconds(1))
    while count.count < 3 { await Task.yield() }
    first.resolver.reject(Boom(code: 1))
    let error = try await expectRejection(of: promise, with: Boom.self)
    #expect(error.code == 1)
    #expect(seen.events == [2, 3, 1])
  }

  @Test func cancelled_atAnyMoment_cancelsAllAttempts_andTheTimer() async throws {
    let started = Recorder<Promise<Int>>()
    let promise = Promise<Int>.hedged(attempts: 3, delay: .seconds(1), clock: clock) {
      let promise = Promise<Int>.never
      started.record(promise)
      return promise
    }
    await clock.advance(by: .seconds(1))
    await started.reaches(2).value
    promise.cancel()
    try await expectCancellation(of: promise)
    for promise in started.events { try await expectCancellation(of: promise) }
    await clock.noSleepers()
    #expect(started.count == 2)
  }

  @Test func aBudget_limitsTheHedges_andIsEarnedBack() async throws {
    let budget = RetryBudget(capacity: 1, tokensPerSuccess: 0.5)
    func hedged(_ operation: @escaping @Sendable () -> Promise<Int>) -> Promise<Int> {
      Promise.hedged(delay: .seconds(1), budget: budget, clock: clock) { operation() }
    }
    // The token is spent on the second attempt, whose value earns half a token.
    let count = CallCounter()
    let first = hedged { count.call() == 1 ? .never : .value(2) }
    await clock.run(until: first)
    try await expectFulfillment(of: first, with: 2)
    #expect(budget.remaining == 0)

    // Without a token, there is only the slow attempt, whose value earns the other half.
    let slow = Promise<Int>.withResolvers()
    let others = CallCounter()
    let second = hedged {
      _ = others.call()
      return slow.promise
    }
    await clock.sleepers(reach: 1)
    await clock.advance(by: .seconds(1))
    await clock.sleepers(reach: 0)
    slow.resolver.fulfill(3)
    try await expectFulfillment(of: second, with: 3)
    try others.expectOnce()
    #expect(budget.remaining == 1)
  }

  @Test func withoutATokenLeft_aFailureIsTheOnlyError() async throws {
    let budget = RetryBudget(capacity: 0, tokensPerSuccess: 0)
    let count = CallCounter()
    let promise = Promise<Int>.hedged(delay: .seconds(3600), budget: budget, clock: clock) {
      _ = count.call()
      return .rejected(Boom())
    }
    try await expectRejection(of: promise, with: Boom.self)
    try count.expectOnce()

    await #expect(throws: Boom.self) {
      try await hedged(delay: .seconds(3600), budget: budget, clock: clock) { () throws -> Int in
        throw Boom()
      }
    }
  }

  @Test func hedgedAsyncFunctions_areAwaitedDirectly() async throws {
    #expect(try await hedged(delay: .seconds(1), clock: clock) { 5 } == 5)
  }
}

/// Combinators for guarantees, dictionaries, and results, and `mapResult`.
@Suite struct MoreCombinatorTests {
  @Test func guarantees() async throws {
    let (a, b) = (Guarantee.value(1), Guarantee.value("b"))
    #expect(await Guarantee.all([a, a]).value == [1, 1])
    let both = try await Promise.all(a, b).value
    #expect(both == (1, "b"))
    try await expectFulfillment(of: Promise.all([a, a]), with: [1, 1])
    let clock = TestClock()
    let late = Guarantee<Int>.never.deadline(clock.now, clock: clock)
    try await expectRejection(of: late, with: TimeoutError.self)
  }

  @Test func dictionaries() async throws {
    let all = Promise.all(["a": Promise.value(1), "b": Promise.value(2)])
    try await expectFulfillment(of: all, with: ["a": 1, "b": 2])
    let failed = Promise.all(["a": Promise.value(1), "b": .rejected(Boom())])
    try await expectRejection(of: failed, with: Boom())
  }

  @Test func outcomesOfSeveralTypes() async throws {
    let (number, text) = try await Promise.allSettled(
      Promise.value(1), Promise<String>.rejected(Boom())
    ).value
    #expect(try number.get() == 1)
    #expect(throws: Boom()) { try text.get() }
  }

  @Test func mapResult() async throws {
    let fulfilled = Promise.value(1).mapResult { try $0.get() + 1 }
    try await expectFulfillment(of: fulfilled, with: 2)
    let rejected = Promise<Int>.rejected(Boom()).mapResult { result in
      if case .failure = result { 7 } else { 0 }
    }
    try await expectFulfillment(of: rejected, with: 7)
  }

  @Test func mapError() async throws {
    let replaced = Promise<Int>.rejected(Boom()).mapError { _ in OtherError() }
    try await expectRejection(of: replaced, with: OtherError())
    try await expectFulfillment(of: Promise.value(1).mapError { _ in OtherError() }, with: 1)
  }

  @Test func asyncHandlers() async throws {
    let number = Promise.value(1).asyncMap { try await Promise.value($0 + 1).value }
    try await expectFulfillment(of: number, with: 2)
    let recovered = Promise<Int>.rejected(Boom()).asyncRecover { _ in
      try await Promise.value(3).value
    }
    try await expectFulfillment(of: recovered, with: 3)
    let calls = CallCounter()
    let cleaned = Promise<Int>.rejected(Boom()).asyncFinally {
      try await Promise.value(()).value
      calls.call()
    }
    try await expectRejection(of: cleaned, with: Boom())
    try calls.expectOnce()
    #expect(await Guarantee.value(1).asyncMap { $0 + 1 }.asyncFinally { calls.call() }.value == 2)
  }

  @Test func cancellingAnAsyncMap_rejectsAtOnce() async throws {
    let (gate, open) = Promise<Void>.withResolvers()
    let (entered, enter) = Promise<Void>.withResolvers()
    let promise = Promise.value(1).asyncMap { number in
      enter.fulfill()
      await Task.detached { _ = await gate.result }.value
      return number
    }
    try await entered.value
    promise.cancel()
    try await expectCancellation(of: promise)
    open.fulfill()
  }

  @Test func finallyThen_waitsForThenables() async throws {
    let (closing, close) = Guarantee<Void>.withResolvers()
    let cleaned = Promise.value(1).finallyThen { closing }
    try expectPending(cleaned)
    close.fulfill()
    try await expectFulfillment(of: cleaned, with: 1)
    try await expectRejection(
      of: Promise.value(1).finallyThen { Promise<Int>.rejected(Boom()) }, with: Boom())
  }

  @Test func resolverMethods_areHandlers() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    Promise.value(4).done(resolver.fulfill).catch(resolver.reject)
    try await expectFulfillment(of: promise, with: 4)
  }
}
