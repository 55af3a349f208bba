import Dispatch
import Pledge
import PledgeTesting
import Testing

/// Timers run no code of the program on their thread, and need no thread of a pool.
@Suite struct TimersUnderLoad {
  @Test(.timeLimit(.minutes(1)))
  func handlerInPlaceOfATimer_canWaitForAnotherTimer() async throws {
    let outer = Promise<Void>.after(.milliseconds(1)).map(on: .immediate) {
      try Promise<Void>.after(.milliseconds(1)).wait()
    }
    try await expectFulfillment(of: outer)
  }

  @Test(.timeLimit(.minutes(1)))
  func onCancelAfterATimeout_canWaitForATimer() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (told, toldResolver) = Promise<Void>.withResolvers()
    resolver.onCancel {
      try? Promise<Void>.after(.milliseconds(1)).wait()
      toldResolver.fulfill()
    }
    try await expectRejection(
      of: promise.timeout(after: .milliseconds(1)), with: TimeoutError.self)
    try await expectFulfillment(of: told)
  }

  @Test(.timeLimit(.minutes(1)))
  func timeouts_fireWhileEveryThreadOfTheGlobalQueueWaitsForThem() async throws {
    let (never, resolver) = Promise<Int>.withResolvers()
    let waits = (0..<40).map { _ in
      Promise<Bool>(on: .global) {
        do {
          _ = try never.timeout(after: .milliseconds(5)).wait()
          return false
        } catch {
          return error is TimeoutError
        }
      }
    }
    let results = try await Promise<[Bool]>.all(waits).value
    #expect(results.allSatisfy { $0 })
    resolver.fulfill(1)
  }

  @Test func absurdDurations_areClamped() {
    let promise = Promise<Void>.after(.seconds(1e19))
    #expect(promise.isPending)
    promise.cancel()
    let (pending, resolver) = Promise<Int>.withResolvers()
    let timed = pending.timeout(after: .seconds(Int64.max))
    resolver.fulfill(1)
    #expect(timed.state == "fulfilled: 1")
  }
}
