import Dispatch
import Pledge
import PledgeTesting
import Testing

/// Timers run none of the program's code on their thread, and need no thread of a pool.
///
/// It runs in processes of its own: these tests use real timers, and block all threads of a pool.
@Suite struct TimersUnderLoad {
  @Test func handlerInPlaceOfATimer_canWaitForAnotherTimer() async {
    await #expect(processExitsWith: .success) {
      let outer = Promise<Void>.after(.milliseconds(1)).map(on: .immediate) {
        try Promise<Void>.after(.milliseconds(1)).wait()
      }
      try await expectFulfillment(of: outer)
    }
  }

  @Test func onCancelAfterATimeout_canWaitForATimer() async {
    await #expect(processExitsWith: .success) {
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
  }

  @Test func enqueueThatBlocks_holdsUpNoTimer() async {
    await #expect(processExitsWith: .success) {
      struct SlowExecutor: PromiseExecutor {
        func enqueue(_ job: PromiseJob) {
          try? Promise<Void>.after(.milliseconds(1)).wait()
          job.run()
        }
      }
      let calls = Recorder<Int>()
      let timer = Promise<Void>.after(.milliseconds(1))
      let handlers = (0..<3).map { n in timer.done(on: SlowExecutor()) { calls.record(n) } }
      for handler in handlers { try await expectFulfillment(of: handler) }
      #expect(calls.events == [0, 1, 2])
    }
  }

  @Test func handlersInPlaceOfATimer_runInTheOrderOfAttachment() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<50 {
        let calls = Recorder<Int>()
        let (start, resolver) = Promise<Void>.withResolvers()
        let timer = start.then(on: .immediate) { Promise<Void>.after(.microseconds(100)) }
        let handlers = (0..<8).map { n in timer.done(on: .immediate) { calls.record(n) } }
        resolver.fulfill()
        for handler in handlers { try await expectFulfillment(of: handler) }
        #expect(calls.events == Array(0..<8))
      }
    }
  }

  @Test func closuresOfARetryPolicy_canWaitForATimer_afterTheTimeoutOfAnAttempt() async {
    await #expect(processExitsWith: .success) {
      let calls = Recorder<String>()
      var policy = RetryPolicy(attempts: 2) { _ in
        try? Promise<Void>.after(.milliseconds(1)).wait()
        calls.record("delay")
        return .zero
      }
      policy.isRetryable = { _ in
        try? Promise<Void>.after(.milliseconds(1)).wait()
        calls.record("isRetryable")
        return true
      }
      policy.attemptTimeout = .milliseconds(1)
      let retried = Promise<Int>.retry(policy) { Promise<Int>.never }
      try await expectRejection(of: retried, with: RetryError.self)
      #expect(calls.events == ["isRetryable", "delay"])
    }
  }

  @Test func conformancesOfTheProgram_canWaitForATimer() async {
    await #expect(processExitsWith: .success) {
      struct Patient: Comparable, Hashable, Sendable {
        let number: Int

        private static func rest() { try? Promise<Void>.after(.milliseconds(1)).wait() }

        static func < (a: Patient, b: Patient) -> Bool {
          rest()
          return a.number < b.number
        }

        func hash(into hasher: inout Hasher) {
          Self.rest()
          hasher.combine(number)
        }
      }
      let values = [2, 1].map(Patient.init)
      let (start, resolver) = Promise<Void>.withResolvers()
      let promise = start.map(on: .immediate) { values }.delay(.milliseconds(1)).sortedValues()
      let guarantee = start.replaceError(with: ()).map(on: .immediate) { values }
        .delay(.milliseconds(1)).sortedValues()
      let keyed = Promise<[Patient: Int]>.all([
        values[0]: start.map(on: .immediate) { 3 }.delay(.milliseconds(1))
      ])
      resolver.fulfill()
      try await expectFulfillment(of: promise.asVoid())
      try await expectFulfillment(of: guarantee.promise.asVoid())
      try await expectFulfillment(of: keyed.asVoid())
    }
  }

  @Test func reportThatBlocks_holdsUpNoTimer() async {
    await #expect(processExitsWith: .success) {
      let (told, resolver) = Promise<Void>.withResolvers()
      PromiseDiagnostics.setUnhandledRejectionHandler { _ in
        try? Promise<Void>.after(.milliseconds(1)).wait()
        resolver.fulfill()
      }
      _ = Promise<Int>.never.timeout(after: .milliseconds(1))
      try await expectFulfillment(of: told)
    }
  }

  @Test func timeouts_fireWhileEveryThreadOfTheGlobalQueueWaitsForThem() async {
    await #expect(processExitsWith: .success) {
      let (never, resolver) = Promise<Int>.withResolvers()
      // Another consumer, so that the promise isn't cancelled when the first ones have timed out.
      never.cauterize()
      let waits = (0..<40).map { _ in
        Promise<String>(on: .global) {
          do {
            return "\(try never.timeout(after: .milliseconds(5)).wait())"
          } catch {
            return error is TimeoutError ? "timed out" : "\(error)"
          }
        }
      }
      let results = try await Promise<[String]>.all(waits).value
      #expect(results == Array(repeating: "timed out", count: 40))
      withExtendedLifetime(resolver) {}
    }
  }

  @Test func absurdDurations_areClamped() async {
    await #expect(processExitsWith: .success) {
      let promise = Promise<Void>.after(.seconds(1e19))
      #expect(promise.isPending)
      promise.cancel()
      let (pending, resolver) = Promise<Int>.withResolvers()
      let timed = pending.timeout(after: .seconds(Int64.max))
      resolver.fulfill(1)
      #expect(timed.currentResult.map { "\($0)" } == "success(1)")
    }
  }

  @Test func absurdDurations_areClamped_onAClockThatOverflows() async {
    await #expect(processExitsWith: .success) {
      let promise = Promise<Void>.after(.seconds(Int64.max), clock: NanosecondClock())
      // The clock has computed the deadline by then.
      while NanosecondClock.sleepers.count == 0 { await Task.yield() }
      #expect(promise.isPending)
      promise.cancel()
    }
  }
}

/// A clock with a 64-bit count of nanoseconds, which traps on overflow.
private struct NanosecondClock: Clock {
  struct Instant: InstantProtocol {
    var nanoseconds: Int64

    func advanced(by duration: Duration) -> Instant {
      let (seconds, attoseconds) = duration.components
      return Instant(
        nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    func duration(to other: Instant) -> Duration {
      .nanoseconds(other.nanoseconds - nanoseconds)
    }

    static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
  }

  static let sleepers = Recorder<Instant>()

  var now: Instant { Instant(nanoseconds: 0) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    Self.sleepers.record(deadline)
    try await Task.sleep(nanoseconds: .max)
  }
}
