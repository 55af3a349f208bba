@testable import Pledge

/// The state machine of the circuit breaker, without a clock or threads.
@Suite struct CircuitStateTests {
  private func state(
    _ threshold: CircuitBreaker.Threshold = .consecutiveFailures(2), openTime: Int64 = 10,
    probes: Int = 1
  ) -> CircuitState { CircuitState(threshold, openTime: openTime, probes: probes) }

  /// Ends calls of the closed circuit, and returns the number of the one that opened it.
  private func opening(
    _ threshold: CircuitBreaker.Threshold, _ calls: [(isFailure: Bool, time: Int64)]
  ) -> Int? {
    var circuit = state(threshold)
    for (number, call) in calls.enumerated() {
      guard let era = circuit.admitIfClosed() else { return number }
      circuit.end(era, call.isFailure ? .failure : .success, at: call.time)
    }
    return circuit.admitIfClosed() == nil ? calls.count : nil
  }

  @Test func consecutiveFailures_areForgottenAtASuccess() {
    #expect(opening(.consecutiveFailures(3), "ff.ff.fff".calls()) == 9)
    #expect(opening(.consecutiveFailures(3), "ff.ff.ff.".calls()) == nil)
    #expect(opening(.consecutiveFailures(1), ".f.".calls()) == 2)
  }

  @Test func failureRate_countsTheLastCalls_whenThereAreEnough() {
    let half = CircuitBreaker.Threshold.failureRate(0.5, ofLast: 4, minimumCalls: 4)
    #expect(opening(half, "fff".calls()) == nil)
    #expect(opening(half, "ffff".calls()) == 4)
    // The oldest call leaves the window.
    #expect(opening(half, "f...f...".calls()) == nil)
    #expect(opening(half, "f....f.f".calls()) == 8)
    #expect(opening(half, "ff......f...f".calls()) == nil)
    // A success doesn't open the circuit, although the rate is reached.
    #expect(opening(half, "ff..".calls()) == nil)
    // No more calls than the window has.
    #expect(opening(.failureRate(1, ofLast: 2, minimumCalls: 99), "ff".calls()) == 2)
  }

  @Test func failureRate_countsTheCallsOfAPeriod() {
    let half = CircuitBreaker.Threshold.failureRate(0.5, TimeSpan.nanoseconds(100), 3)
    #expect(opening(half, "fff".calls(every: 10)) == 3)
    #expect(opening(half, "fff".calls(every: 60)) == nil)
    #expect(opening(half, ".....f.fff".calls(every: 20)) == 9)
    // The failures of a part leave the window with its calls.
    #expect(opening(half, [(true, 0), (true, 10), (false, 200), (false, 210), (true, 220)]) == nil)
    // Earlier times, which another thread has read before, don't matter.
    #expect(opening(half, [(true, 50), (true, 40), (true, 45)]) == 3)
  }

  @Test func openCircuit_becomesHalfOpen_andClosesWithItsProbes() {
    var circuit = state(probes: 2)
    for _ in 0..<2 { circuit.end(circuit.admitIfClosed()!, .failure, at: 5) }
    #expect(circuit.state(at: 14) == .open)
    #expect(circuit.admit(at: 12) == .rejected(3))
    #expect(circuit.state(at: 15) == .halfOpen)
    let (first, second) = (circuit.admitted(at: 15), circuit.admitted(at: 17))
    #expect(circuit.admit(at: 20) == .rejected(7))
    circuit.end(first, .success, at: 20)
    // Both places are taken, by a probe that succeeded and one in progress.
    #expect(circuit.admit(at: 20) == .rejected(7))
    #expect(circuit.state(at: 20) == .halfOpen)
    circuit.end(second, .success, at: 21)
    #expect(circuit.state(at: 21) == .closed)
    #expect(circuit.changes() == [.open, .halfOpen, .closed])
  }

  @Test func failedProbe_opensAgain_andTheOthersDontCount() {
    var circuit = state(.consecutiveFailures(1), probes: 2)
    circuit.end(circuit.admitIfClosed()!, .failure, at: 0)
    let era = circuit.admitted(at: 10)
    _ = circuit.admit(at: 10)
    circuit.end(era, .failure, at: 12)
    #expect(circuit.admit(at: 13) == .rejected(9))
    circuit.end(era, .success, at: 14)
    #expect(circuit.state(at: 14) == .open)
    // Both places are free again, although a probe of the last phase hasn't ended.
    for _ in 0..<2 { #expect(circuit.admitted(at: 22) == era + 2) }
    circuit.end(era, .success, at: 23)
    #expect(circuit.state(at: 23) == .halfOpen)
  }

  @Test(arguments: [CircuitOutcome.success, .failure, .ignored])
  func slowProbe_givesItsPlaceBack_andCounts(outcome: CircuitOutcome) {
    var circuit = state(.consecutiveFailures(1), probes: 2)
    circuit.end(circuit.admitIfClosed()!, .failure, at: 0)
    let era = circuit.admitted(at: 10)
    #expect(circuit.admitted(at: 11) == era)
    #expect(circuit.admit(at: 20) == .rejected(1))
    // Both are slow. Two others take their places, and only two.
    for _ in 0..<2 { #expect(circuit.admitted(at: 21) == era + 1) }
    #expect(circuit.admit(at: 22) == .rejected(9))
    circuit.end(era, outcome, at: 23)
    if outcome == .ignored {
      // Its place isn't free a second time.
      #expect(circuit.admit(at: 23) == .rejected(8))
    }
    circuit.end(era, .success, at: 23)
    switch outcome {
    case .success: #expect(circuit.state(at: 23) == .closed)
    case .failure: #expect(circuit.state(at: 23) == .open)
    case .ignored:
      #expect(circuit.state(at: 23) == .halfOpen)
      circuit.end(era + 1, .success, at: 24)
      #expect(circuit.state(at: 24) == .closed)
    }
  }

  @Test func probesThatAreAlwaysSlow_closeTheCircuitNevertheless() {
    var circuit = state(.consecutiveFailures(1))
    circuit.end(circuit.admitIfClosed()!, .failure, at: 0)
    let era = circuit.admitted(at: 10)
    // Each takes five times the open time, and another one starts each time that passes.
    for (number, time) in stride(from: Int64(20), to: 60, by: 10).enumerated() {
      #expect(circuit.admitted(at: time) == era + 1 + number)
    }
    circuit.end(era, .success, at: 60)
    #expect(circuit.state(at: 60) == .closed)
    for time in 61..<65 as Range<Int64> { circuit.end(era, .failure, at: time) }
    #expect(circuit.state(at: 65) == .closed)
  }

  @Test func callsOfAnEarlierPhase_dontCount() {
    var circuit = state(.consecutiveFailures(1))
    let old = circuit.admitIfClosed()!
    circuit.close()
    circuit.end(old, .failure, at: 0)
    #expect(circuit.state(at: 0) == .closed)
    circuit.open()
    #expect(circuit.admit(at: .max) == .rejected(nil))
    circuit.close()
    #expect(circuit.admitIfClosed() != nil)
    #expect(circuit.changes() == [.open, .closed])
  }

  @Test(arguments: [0, -1, Int64.min])
  func openTimes_ofZeroOrLess_areHalfOpenAtOnce_withLimitedProbes(time: Int64) {
    var circuit = state(.consecutiveFailures(1), openTime: time)
    circuit.end(circuit.admitIfClosed()!, .failure, at: 7)
    #expect(circuit.state(at: 7) == .halfOpen)
    #expect(circuit.admit(at: 7) == .admitted(2))
    #expect(circuit.admit(at: 9) == .rejected(0))
  }
}

extension String {
  /// The calls of a circuit: `f` failed, `.` succeeded.
  fileprivate func calls(every time: Int64 = 1) -> [(isFailure: Bool, time: Int64)] {
    enumerated().map { ($1 == "f", Int64($0) * time) }
  }
}

extension CircuitState {
  /// Admits a call, and returns its number; -1 if it's rejected.
  fileprivate mutating func admitted(at now: Int64) -> Int {
    if case .admitted(let era) = admit(at: now) { era } else { -1 }
  }

  fileprivate mutating func changes() -> [CircuitBreaker.State] {
    var changes: [CircuitBreaker.State] = []
    while let change = nextChange(isFirst: changes.isEmpty) { changes.append(change) }
    return changes
  }
}
