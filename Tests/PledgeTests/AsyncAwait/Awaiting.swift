/// `value` and `result`.
@Suite struct Awaiting {
  @Test(arguments: When.allCases) func valueAndResult(when: When) async throws {
    #expect(try await when.fulfill(1) { $0 }.value == 1)
    #expect(try await when.fulfill(2) { $0 }.result.get() == 2)
    await #expect(throws: Boom()) { try await when.reject { $0 }.value }
    await #expect(throws: Boom()) { try await when.reject { $0 }.result.get() }
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    if when == .already { resolver.fulfill(3) } else { Task { resolver.fulfill(3) } }
    #expect(await guarantee.value == 3)
  }

  // The compiler must not choose the initializer for functions without isolation of their own here:
  // neither this closure nor the one in it would run on the main actor.
  @Test @MainActor func withTimeout_inAClosureOfThePromise_runsWhereItWasWritten() async throws {
    @MainActor final class Model {
      var count = 0

      func load() -> Promise<Int> {
        Promise {
          try await withTimeout(.seconds(60)) {
            self.count += 1
            return self.count
          }
        }
      }
    }
    try await expectFulfillment(of: Model().load(), with: 1)
  }
}
