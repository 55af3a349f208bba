@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

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
    func wait() throws -> Int { try promise.wait() }
    #expect(throws: BrokenPromiseError.self) { try wait() }
  }
}
