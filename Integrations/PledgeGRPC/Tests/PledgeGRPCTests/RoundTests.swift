import Foundation
import GRPCCore
import Pledge
import PledgeGRPC
import PledgeTesting
import Testing

@Suite struct RoundTests {
  @Test func manyRounds_leaveNothingBehind() async throws {
    let rounds = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1" ? 100_000 : 10_000
    let lifetimes = LifetimeTracker()
    let cancelled = CallCounter()
    try await withPeer {
      $0.register(Methods.count) { number, _ in
        let token = lifetimes.track(number % 3 == 0 ? "cancelled response" : "response")
        // More calls are cancelled than streams can be reset, so most of them must end by themselves.
        if number % 300 == 0 {
          return Promise { resolver in
            resolver.onCancel { _ = (cancelled.call(), token, resolver) }
          }
        }
        return Promise.value(number).map(on: .global) { [token] value in
          withExtendedLifetime(token) { value }
        }
      }
      $0.registerStream(
        Methods.text,
        writing: { text, responses, _ in
          let token = lifetimes.track("stream")
          return responses.send(text).map { [token] in withExtendedLifetime(token) {} }
        })
    } _: { peer, _ in
      let all = Promise.all(0..<rounds, concurrently: 64) { number -> Promise<Void> in
        let token = lifetimes.track("call")
        if number % 3 == 0 {
          // Cancelled by the client: before, while, or after the server has its request. With a time
          // limit, since gRPC's transport doesn't tell a handler about a cancellation that arrives when
          // the handler is about to start.
          let call = peer.call(Methods.count, number, within: .seconds(30))
          return Promise.value(()).map(on: .global) { call.cancel() }
            .then { call.asVoid() }
            .replaceError { [token] _ in withExtendedLifetime(token) {} }.promise
        }
        if number % 3 == 1 {
          return peer.stream(Methods.text, "tea") { [token] _ in
            withExtendedLifetime(token) { .value(()) }
          }
        }
        return peer.call(Methods.count, number).map { [token] _ in withExtendedLifetime(token) {} }
      }
      try await expectFulfillment(of: all.asVoid(), within: .seconds(3600))
      try await lifetimes.expectNoneAlive(within: .seconds(120))
      #expect(lifetimes.madeCount >= rounds)
    }
  }
}
