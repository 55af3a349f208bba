@testable import Pledge

/// A limiter that finds its limit, in simulations that compute for long.
///
/// `PLEDGE_FULL=1` in the environment runs them with more seeds.
@Suite(.apart) struct AdaptiveLimitTests {
  private static let seeds: [UInt64] = isFullRun ? [1, 2, 3] : [1]

  /// A service that runs `capacity` operations at a time, each for `serviceTime`; further ones wait
  /// in a queue.
  ///
  /// Time is virtual: the simulation advances it from one event to the next.
  private struct Service {
    var capacity: Int
    /// In nanoseconds.
    var serviceTime: Int64 = 100_000_000
    /// The part by which service times differ at random.
    var noise = 0.0
  }

  /// What the second half of a simulation has shown.
  private struct Outcome {
    /// The limit after each operation.
    var limits: [Int] = []
    var shed = 0
    /// How long it took, in nanoseconds.
    var time: Int64 = 0
    var isWithin20Percent: (Int) -> Bool {
      { capacity in limits.allSatisfy { abs($0 - capacity) <= max(capacity / 5, 1) } }
    }
  }

  /// Offers `load` times the capacity of `service` to a limit, until `count` operations are done.
  private func simulate(
    _ service: Service, load: Double = 2, count: Int = 40_000, seed: UInt64 = 1,
    limit: AdaptiveLimit = AdaptiveLimit(1...1_000, initial: 10),
    change: (after: Int, to: Service)? = nil
  ) -> Outcome {
    var (limit, service, random, outcome) = (limit, service, SeededRandom(seed: seed), Outcome())
    var now: Int64 = 0
    var running = 0
    /// The starts of the operations that wait in the service.
    var queue: [Int64] = []
    /// The operations that the service runs, with the times when they end; the next one last.
    var served: [(end: Int64, start: Int64)] = []
    var nextArrival: Int64 = 0
    var done = 0
    var halfTime: Int64 = 0
    func serve(_ start: Int64) {
      let factor = 1 + service.noise * Double.random(in: -1...1, using: &random)
      let end = now + Int64(Double(service.serviceTime) * factor)
      served.insert((end, start), at: served.firstIndex { $0.end <= end } ?? served.count)
    }
    while done < count {
      if let change, done == change.after { service = change.to }
      if let next = served.last, next.end <= nextArrival {
        now = next.end
        served.removeLast()
        done += 1
        limit.noteEnd(.response(start: next.start), at: now, running: running)
        running -= 1
        while served.count < service.capacity, !queue.isEmpty { serve(queue.removeFirst()) }
        if done == count / 2 { halfTime = now }
        if done > count / 2 { outcome.limits.append(limit.current) }
        continue
      }
      now = nextArrival
      let gap = Double(service.serviceTime) / Double(service.capacity) / load
      nextArrival += Int64(gap * -log(1 - Double.random(in: 0..<1, using: &random)))
      guard running < limit.limit else {
        if done >= count / 2 { outcome.shed += 1 }
        continue
      }
      running += 1
      limit.noteStart(running: running)
      if served.count < service.capacity { serve(now) } else { queue.append(now) }
    }
    outcome.time = now - halfTime
    return outcome
  }

  @Test(arguments: [5, 10, 20, 50, 200], seeds)
  func saturatedService_itsCapacityIsFound_andTheRestIsShed(capacity: Int, seed: UInt64) {
    let outcome = simulate(Service(capacity: capacity), seed: seed)
    #expect(outcome.isWithin20Percent(capacity))
    // Half of what arrives is more than the service can do, at nearly its full throughput.
    let done = Double(outcome.limits.count)
    #expect(abs(Double(outcome.shed) / (Double(outcome.shed) + done) - 0.5) < 0.1)
    let possible =
      Double(outcome.time) / Double(Service(capacity: 1).serviceTime) * Double(capacity)
    #expect(done > 0.9 * possible)
  }

  @Test(arguments: [20, 50, 200], seeds)
  func noisyService_theLimitIsRightOnAverage(capacity: Int, seed: UInt64) {
    let outcome = simulate(Service(capacity: capacity, noise: 0.5), seed: seed)
    let mean = Double(outcome.limits.reduce(0, +)) / Double(outcome.limits.count)
    #expect(abs(mean / Double(capacity) - 1) < 0.2)
  }

  @Test func smallerAndLargerCapacities_andOtherServiceTimes_areFound() {
    for (capacity, time) in [(20, 100), (100, 100), (50, 300), (50, 20)] as [(Int, Int64)] {
      let outcome = simulate(
        Service(capacity: 50), load: 3, count: 60_000,
        change: (20_000, Service(capacity: capacity, serviceTime: time * 1_000_000)))
      #expect(outcome.isWithin20Percent(capacity), "\(capacity), \(time) ms")
    }
  }

  @Test func lowLoad_shedsNothing_andDoesntRaiseTheLimit() {
    let outcome = simulate(
      Service(capacity: 100), load: 0.1, limit: AdaptiveLimit(1...1_000, initial: 60))
    #expect(outcome.shed < 50)
    #expect(outcome.limits.allSatisfy { $0 == 60 })
  }

  @Test func overload_shrinksTheLimit_onceForTheOperationsOfOneTime() {
    var limit = AdaptiveLimit(2...100, initial: 50)
    for time in 1...20 as ClosedRange<Int64> {
      limit.noteEnd(.overload(start: 0), at: time, running: 10)
    }
    #expect(limit.current == 45)
    limit.noteEnd(.overload(start: 1), at: 30, running: 10)
    #expect(limit.current == 40)
    for time in 31...90 as ClosedRange<Int64> {
      limit.noteEnd(.overload(start: time), at: time, running: 1)
      limit.noteEnd(.ignored, at: time, running: 1)
    }
    #expect(limit.current == 2)
  }

  @Test func rangesOfAnySize() {
    #expect(AdaptiveLimit(Int.min...Int.max, initial: .max).current == 1_000_000)
    #expect(AdaptiveLimit(Int.min...Int.max, initial: .min).current == 1)
    #expect(AdaptiveLimit(-5 ... -1, initial: 3).current == 1)
    #expect(AdaptiveLimit(Int.max...Int.max, initial: 3).current == 1_000_000)
    let outcome = simulate(Service(capacity: 50), limit: AdaptiveLimit(7...7, initial: 9))
    #expect(outcome.limits.allSatisfy { $0 == 7 })
    // A service that needs no time.
    var limit = AdaptiveLimit(1...100, initial: 10)
    for _ in 0..<10_000 {
      limit.noteStart(running: 1)
      limit.noteEnd(.response(start: 5), at: 5, running: 1)
    }
    #expect(limit.current == 10)
  }
}
