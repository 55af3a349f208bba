import Foundation
import Pledge
import PledgeTesting
import StressKit

/// A way in which clients call the service.
struct Plan: Sendable {
  let name: String
  /// Returns the function that makes one call; the policies are made once.
  let make: @Sendable (TestClock, Service, RandomNumbers) -> @Sendable () -> Promise<Void>
}

/// Random numbers that depend only on a seed.
final class RandomNumbers: Sendable {
  private let numbers: Lock<SplitMix>
  init(seed: UInt64) { numbers = Lock(SplitMix(seed: seed)) }

  /// From 0 up to, but not including, 1.
  func next() -> Double { numbers.withLock { Double.random(in: 0..<1, using: &$0) } }
}

/// What the clients have seen.
struct Outcome: Sendable {
  struct Call: Sendable {
    let start: Double
    let latency: Double
    let isSuccess: Bool
  }

  var calls: [Call] = []
  var started = 0
  var requests = 0

  /// The successful calls per second that ended in a period.
  func goodput(_ period: Range<Double>) -> Double {
    let good = calls.count { $0.isSuccess && period.contains($0.start + $0.latency) }
    return Double(good) / (period.upperBound - period.lowerBound)
  }

  /// The latency in seconds below which 99 of 100 successful calls that started in a period stayed;
  /// nil without any.
  func p99(_ period: Range<Double>) -> Double? {
    let good = calls.filter { $0.isSuccess && period.contains($0.start) }
    let latencies = good.map(\.latency).sorted()
    return latencies.isEmpty ? nil : latencies[min(latencies.count * 99 / 100, latencies.count - 1)]
  }

  /// The requests that the service received for each call.
  var amplification: Double { Double(requests) / Double(started) }
}

/// 1,000 clients of a service that fails, slows down, and recovers.
struct Simulation {
  static let clients = 1_000
  /// How often each client makes a call, on average.
  static let callsPerSecond = 0.7
  static let before = 2.0..<10.0
  static let failing = 10.0..<15.0
  static let slow = 25.0..<35.0
  /// From 25 seconds after the last disturbance.
  static let after = 60.0..<80.0

  static func run(_ plan: Plan, seed: UInt64) async -> Outcome {
    let clock = TestClock()
    let service = Service(clock)
    let call = plan.make(clock, service, RandomNumbers(seed: seed &+ 1))
    let outcome = Lock(Outcome())
    let random = RandomNumbers(seed: seed)
    // The calls of many independent clients arrive at random times.
    @Sendable func arrive() {
      let gap = -log(1 - random.next()) / (Double(clients) * callsPerSecond)
      Promise<Void>.after(.seconds(gap), clock: clock)
        .done(on: .immediate) {
          arrive()
          let start = clock.now.offset.seconds
          outcome.withLock { $0.started += 1 }
          call().observe(on: .immediate) { result in
            let latency = clock.now.offset.seconds - start
            let isSuccess = (try? result.get()) != nil
            let call = Outcome.Call(start: start, latency: latency, isSuccess: isSuccess)
            outcome.withLock { $0.calls.append(call) }
          }
        }
        .catch(on: .immediate) { _ in }
    }
    arrive()
    await clock.advance(by: .seconds(after.upperBound))
    var result = outcome.withLock { $0 }
    result.requests = service.received
    return result
  }
}
