import Foundation
import GRPCCore
import Pledge
import PledgeGRPC
import PledgeTesting
import Testing

@testable import deadlines

@Suite struct StreamResetTests {
  /// More cancellations than a server accepts on a connection: without a limit, it ends the connection, and
  /// the call that has nothing to do with them.
  @Test func manyCancellations_endNoOtherCall() async throws {
    let held = Held<String>()
    let bystander = Held<Int>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in held.promise() }
      $0.register(Methods.count) { _, _ in bystander.promise() }
    } _: { peer, _ in
      let other = peer.call(Methods.count, 1)
      await bystander.started.reaches(1).value
      for round in 1...10 {
        let calls = (0..<40).map { _ in peer.call(Methods.text, "tea") }
        await held.started.reaches(40 * round).value
        for call in calls { call.cancel() }
        // Each call is rejected immediately, whether or not its stream can be reset yet.
        for call in calls { try await expectCancellation(of: call) }
        await held.cancelled.reaches(min(40 * round, 60)).value
        for resolver in held.started.events.dropFirst(60) { resolver.fulfill("late") }
      }
      #expect(held.cancelled.count >= 60)
      for resolver in held.started.events { resolver.fulfill("late") }
      bystander.started.events[0].fulfill(7)
      try await expectFulfillment(of: other, with: 7)
    }
  }

  /// Many calls, hedged with the budget that the article recommends.
  ///
  /// Each fiftieth call is slow, so its hedge is cancelled while the budget lasts. The long form
  /// is ten thousand calls.
  @Test(.timeLimit(.minutes(5)))
  func hedgedCalls_withTheRecommendedBudget_endNoOtherCall() async throws {
    let calls = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1" ? 10_000 : 1_000
    let bystander = Held<String>()
    let attempts = CallCounter()
    let cancelled = CallCounter()
    let slow = Recorder<Int>()
    try await withPeer {
      $0.register(Methods.text) { _, _ in bystander.promise() }
      $0.register(Methods.count) { number, _ in
        _ = attempts.call()
        guard number % 50 == 0 else { return .value(number) }
        // The hedge loses, however busy the machine is.
        let isHedge = slow.events.contains(number)
        slow.record(number)
        return Promise.after(.seconds(isHedge ? 3600 : 1)).map { number }
          .tap { result in
            if case .failure(is CancellationError) = result { _ = cancelled.call() }
          }
      }
    } _: { peer, _ in
      let other = peer.call(Methods.text, "tea")
      await bystander.started.reaches(1).value
      let hedges = RetryBudget(capacity: 10, tokensPerSuccess: 0.01)
      let all = Promise.all(0..<calls, concurrently: 50) { number in
        Promise.hedged(delay: .milliseconds(200), budget: hedges) {
          peer.call(Methods.count, number)
        }
      }
      #expect(try await all.value == Array(0..<calls))
      #expect(attempts.count > calls)
      #expect(attempts.count <= calls + 10 + calls / 100)
      try expectPending(other)
      bystander.started.events[0].fulfill("still here")
      try await expectFulfillment(of: other, with: "still here")
      try await expectFulfillment(of: cancelled.reaches(1).promise)
    }
  }

  @Test func example_showsTheDeadlineOnBothSides() async throws {
    let lines = Recorder<String>()
    try await Deadlines.run { lines.record($0) }
    try await expectFulfillment(of: lines.reaches(8).promise)
    let expected = [
      "tea after 1 ms", "client: deadlineExceeded", "server: cancelled", "server: cancelled",
      "server: there is a deadline", "server: there is a deadline", "server: there is a deadline",
      "client: The deadline had passed before the call to the shop could start.",
    ]
    #expect(lines.events.sorted() == expected.sorted())
  }
}
