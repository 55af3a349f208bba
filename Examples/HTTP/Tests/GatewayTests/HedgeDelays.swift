import Testing

@testable import gateway

/// The delay alone, in virtual time: latencies are numbers here, and nothing waits.
@Suite struct HedgeDelayTests {
  @Test func quickCalls_leaveTheMinimum() {
    let backend = VirtualBackend { rank in .milliseconds(10 + 30 * rank) }
    #expect(backend.hedges(in: 1000) == 0)
    #expect(backend.delay.current == .milliseconds(50))
  }

  /// If two percent stall, the delay is also too short for two percent of the others.
  @Test(arguments: [0, 0.02])
  func slowCalls_increaseTheDelay_untilFourPercentAreHedged_andStallsCountOnce(stalls: Double) {
    let backend = VirtualBackend { rank in
      .milliseconds(rank > 1 - stalls ? 1000 : 50 + 100 * rank)
    }
    _ = backend.hedges(in: 2000)
    #expect((350...450).contains(backend.hedges(in: 10_000)))
    #expect((.milliseconds(140)...(.milliseconds(150))).contains(backend.delay.current))
  }

  @Test func theDelay_returnsToTheMinimum_whenCallsAreQuickAgain() {
    let slow = VirtualBackend { _ in .milliseconds(500) }
    _ = slow.hedges(in: 100)
    #expect(slow.delay.current > .milliseconds(400))
    let quick = VirtualBackend(slow.delay) { _ in .milliseconds(10) }
    #expect(quick.hedges(in: 3000) == 0)
    #expect(slow.delay.current == .milliseconds(50))
  }
}

/// A backend whose latency is a function of a rank from 0 to 1; all ranks are equally frequent.
private final class VirtualBackend {
  let delay: HedgeDelay
  private let latency: (Double) -> Duration
  private var calls = 0

  init(
    _ delay: HedgeDelay = HedgeDelay(minimum: .milliseconds(50)),
    latency: @escaping (Double) -> Duration
  ) {
    (self.delay, self.latency) = (delay, latency)
  }

  /// Returns how many of `count` calls are hedged.
  func hedges(in count: Int) -> Int {
    (0..<count).count { _ in
      let (first, limit) = (nextLatency(), delay.current)
      let isHedged = first > limit
      delay.note(isHedged ? min(first, limit + nextLatency()) : first)
      return isHedged
    }
  }

  private func nextLatency() -> Duration {
    calls += 1
    // Multiples of the golden ratio are spread evenly, without a random generator.
    return latency((Double(calls) * 0.618_033_988_749_895).truncatingRemainder(dividingBy: 1))
  }
}
