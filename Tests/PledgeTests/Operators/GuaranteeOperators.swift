import Pledge
import PledgeTesting
import Testing

/// The operators of guarantees, which return guarantees unless something can fail.
@Suite struct GuaranteeOperators {
  @Test func race_ofASequence() async {
    let slow = Guarantee<Int>.withResolvers()
    let isCancelled = CallCounter()
    slow.resolver.onCancel { isCancelled.call() }
    let first = Guarantee.race([slow.guarantee, .value(2)])
    #expect(await first.value == 2)
    #expect(isCancelled.count == 1)
    let spared = Guarantee<Int>.withResolvers()
    #expect(
      await Guarantee.race([spared.guarantee, .value(2)], cancellingLosers: false).value == 2)
    #expect(spared.resolver.isPending)
    spared.resolver.fulfill(1)
    #expect(Guarantee<Int>.race([]).isPending)
  }

  @Test(arguments: [false, true])
  func race_passesOverBrokenGuarantees(isBrokenBefore: Bool) async throws {
    let lost = Box<GuaranteeResolver<Int>?>(nil)
    let broken = Guarantee<Int> { lost.value = $0 }
    let (slow, resolver) = Guarantee<Int>.withResolvers()
    if isBrokenBefore { lost.value = nil }
    let race = Guarantee.race(broken, slow)
    if !isBrokenBefore { lost.value = nil }
    #expect(race.isPending)
    resolver.fulfill(2)
    #expect(await race.value == 2)
  }

  @Test func race_ofBrokenGuarantees_isBroken() async throws {
    func broken() -> Guarantee<Int> { Guarantee { _ in } }
    try await expectRejection(
      of: Guarantee.race(broken(), broken()).promise, with: BrokenPromiseError.self)
    func cancelled() -> Guarantee<Int> {
      let guarantee = Guarantee<Int>.never
      guarantee.promise.cancel()
      return guarantee
    }
    try await expectRejection(
      of: Guarantee.race(cancelled(), broken()).promise, with: BrokenPromiseError.self)
    try await expectCancellation(of: Guarantee.race([cancelled(), cancelled()]).promise)
  }

  @Test func race_cancelled_cancelsAll() async throws {
    let guarantees = [Guarantee<Int>.never, .never]
    let race = Guarantee.race(guarantees).promise
    race.cancel()
    try await expectCancellation(of: race)
    for guarantee in guarantees { try await expectCancellation(of: guarantee.promise) }
  }

  @Test func all_ofADictionary() async {
    let values: Guarantee<[String: Int]> = .all(["a": .value(1), "b": .value(2)])
    #expect(await values.value == ["a": 1, "b": 2])
  }

  @Test func resolver_followsAnotherGuarantee() async {
    let (inner, innerResolver) = Guarantee<Int>.withResolvers()
    let (outer, resolver) = Guarantee<Int>.withResolvers()
    resolver.resolve(with: inner)
    #expect(resolver.isPending)
    innerResolver.fulfill(3)
    #expect(await outer.value == 3)
    #expect(!resolver.isPending)
  }

  @Test func wrapping_callbacksThatCannotFail() async {
    @Sendable func ask(_ done: @escaping @Sendable (Bool) -> Void) { done(true) }
    @Sendable func wait(_ done: @escaping @Sendable () -> Void) { done() }
    let answer = Guarantee.wrap { ask($0) }
    #expect(await answer.value)
    await Guarantee.wrap { wait($0) }.value
  }

  @Test func uncancellable_sparesTheGuarantee() async {
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    let view = guarantee.uncancellable().map { $0 + 1 }.promise
    view.cancel()
    await #expect(throws: CancellationError.self) { try await view.value }
    #expect(resolver.fulfill(1))
    #expect(await guarantee.value == 1)
  }

  @Test func scope_ofAGuarantee() async throws {
    final class Owner: Sendable {
      let seen = Recorder<Int>()
    }
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    var scope: PromiseScope? = PromiseScope()
    let owner = Owner()
    let bound = try #require(scope.map { guarantee.bound(to: $0) })
    let handled = Guarantee.value(5).done(weak: owner) { owner, value in owner.seen.record(value) }
    try await handled.value
    try owner.seen.expect([5])
    scope = nil
    try await expectCancellation(of: bound)
    #expect(!resolver.isPending)
  }

  @Test func all_ofDifferentThenables() async throws {
    let all = Promise.all(Promise.value(1), Guarantee.value("a"), Promise.value(true))
    let (number, text, flag) = try await all.value
    #expect(number == 1 && text == "a" && flag)
    let failed = Promise.all(Promise<Int>.rejected(Boom()), Guarantee<Int>.never)
    await #expect(throws: Boom()) { try await failed.value }
  }

  @Test(arguments: When.allCases)
  func replaceErrorWithAValue(when: When) async {
    #expect(await when.fulfill(1) { $0.replaceError(with: 7) }.value == 1)
    #expect(await when.reject { $0.replaceError(with: 7) }.value == 7)
  }
}
