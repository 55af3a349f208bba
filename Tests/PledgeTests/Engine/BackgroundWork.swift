import Pledge
import PledgeTesting
import Testing

/// Work of the library's own threads: it starts in order, and none of it delays the rest.
@Suite struct BackgroundWork {
  @Test func handlerInPlace_canWaitForALaterOne() async throws {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let (second, secondResolver) = Promise<Int>.withResolvers()
    let first = promise.map(on: .immediate) { try second.wait() }
    promise.done(on: .immediate) { secondResolver.fulfill(1) }.ignoreErrors()
    Background.run { resolver.fulfill() }
    try await expectFulfillment(of: first, with: 1)
  }

  @Test func workThatIsBlocked_delaysNoOther() async throws {
    let (gate, open) = Promise<Void>.withResolvers()
    let ended = Recorder<Int>()
    for index in 0..<16 {
      Background.run {
        try? gate.wait()
        ended.record(index)
      }
    }
    let (promise, resolver) = Promise<Int>.withResolvers()
    Background.run { resolver.fulfill(1) }
    try await expectFulfillment(of: promise, with: 1)
    #expect(ended.count == 0)
    open.fulfill()
    await ended.reaches(16).value
  }

  @Test func work_runsOnce() async throws {
    let calls = Recorder<Int>()
    for index in 0..<1_000 { Background.run { calls.record(index) } }
    await calls.reaches(1_000).value
    #expect(calls.events.sorted() == Array(0..<1_000))
  }
}
