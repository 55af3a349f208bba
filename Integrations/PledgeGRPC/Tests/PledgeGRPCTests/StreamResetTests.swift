import Foundation
import GRPCCore
import Pledge
import PledgeGRPC
import PledgeTesting
import Synchronization
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
        await held.cancelled.reaches(min(40 * round, 150)).value
        for resolver in held.started.events.dropFirst(150) { resolver.fulfill("late") }
      }
      #expect(held.cancelled.count == 150)
      for resolver in held.started.events { resolver.fulfill("late") }
      bystander.started.events[0].fulfill(7)
      try await expectFulfillment(of: other, with: 7)
    }
  }

  /// Every call is hedged, and each hedge ends with a cancellation.
  ///
  /// That is far more of them than a server accepts on a connection. The calls follow each other without a
  /// pause, so 10,000 of them take less than a minute.
  @Test func hedgedCalls_endNoOtherCall() async throws {
    let calls = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == nil ? 1_000 : 10_000
    let atOnce = 40
    let slow = Held<Int>()
    let bystander = Held<String>()
    let seen = Mutex<Set<Int>>([])
    try await withPeer {
      $0.register(Methods.text) { _, _ in bystander.promise() }
      $0.register(Methods.count) { number, _ in
        // The first attempt stalls, and the second one doesn't.
        seen.withLock { $0.insert(number).inserted } ? slow.promise() : .value(number)
      }
    } _: { peer, _ in
      let other = peer.call(Methods.text, "tea")
      await bystander.started.reaches(1).value
      let hedges = RetryBudget(capacity: calls, tokensPerSuccess: 1)
      for first in stride(from: 0, to: calls, by: atOnce) {
        let batch = (first..<first + atOnce).map { number in
          Promise.hedged(delay: .milliseconds(1), budget: hedges) {
            peer.call(Methods.count, number)
          }
        }
        for (index, call) in batch.enumerated() {
          try await expectFulfillment(of: call, with: first + index)
        }
        await slow.cancelled.reaches(min(first + atOnce, 150)).value
        // The calls whose streams can't be reset yet end with a response.
        for resolver in slow.started.events.dropFirst(first) { resolver.fulfill(0) }
      }
      #expect(slow.started.count == calls)
      try expectPending(other)
      bystander.started.events[0].fulfill("tea")
      try await expectFulfillment(of: other, with: "tea")
    }
  }

  @Test func example_showsTheDeadlineOnBothSides() async throws {
    let lines = Recorder<String>()
    try await Deadlines.run { lines.record($0) }
    await lines.reaches(8).value
    let expected = [
      "tea after 1 ms", "client: deadlineExceeded", "server: cancelled", "server: cancelled",
      "server: there is a deadline", "server: there is a deadline", "server: there is a deadline",
      "client: The deadline had passed before the call to the shop could start.",
    ]
    #expect(lines.events.sorted() == expected.sorted())
  }
}
