/// The operators of guarantees, which return guarantees unless something can fail.
@Suite struct GuaranteeOperators {
  @Test func resolver_followsAnotherGuarantee() async throws {
    let (inner, innerResolver) = Guarantee<Int>.withResolvers()
    let (outer, resolver) = Guarantee<Int>.withResolvers()
    resolver.resolve(with: inner)
    #expect(resolver.isPending)
    innerResolver.fulfill(3)
    let seen = CallCounter()
    #expect(await outer.finally { _ = seen.call() }.value == 3)
    try seen.expectOnce()
    #expect(!resolver.isPending)
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
    final class Owner: Sendable { let seen = Recorder<Int>() }
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
}
