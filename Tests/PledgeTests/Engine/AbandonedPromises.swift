@_spi(DropIns) import Pledge

/// Abandonment settles a promise without calling a closure; nothing that uses the promise hangs or
/// leaks.
@Suite struct AbandonedPromises {
  let lifetimes = LifetimeTracker()

  @Test func closures_areReleasedUncalled_downTheChain() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let called = Recorder<String>()
    let end =
      promise
      .map(on: .immediate) { [token = lifetimes.track("map")] value in
        called.record("map")
        _ = token
        return value
      }
      .finally(on: .global) { [token = lifetimes.track("finally")] in
        called.record("finally")
        _ = token
      }
      .tap(on: .global) { [token = lifetimes.track("tap")] _ in
        called.record("tap")
        _ = token
      }
    resolver.abandon()
    try await lifetimes.expectNoneAlive()
    #expect(called.events.isEmpty)
    #expect(promise.isPending && end.isPending)
    #expect(!resolver.fulfill(1))
  }

  @Test func wait_throws() throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.abandon()
    #expect(throws: BrokenPromiseError.self) { try wait(promise) }
  }

  @Test func combinators_areAbandonedInTurn_orSettleFromTheOthers() async throws {
    let (abandoned, resolver) = Promise<Int>.withResolvers()
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let all = Promise<[Int]>.all([abandoned, other])
    let failing = Promise<[Int]>.all([abandoned, .rejected(Boom())])
    let race = Promise.race([abandoned, other])
    let any = Promise.any([abandoned, .rejected(Boom())])
    resolver.abandon()
    otherResolver.fulfill(2)
    #expect(all.isPending && any.isPending)
    #expect(race.state == "fulfilled: 2")
    try await expectRejection(of: failing, with: Boom())
  }
}
