import Foundation
import Synchronization

/// A number that one closure adds to, and another one reads.
final class Sum: Sendable {
  private let sum = Atomic(0)

  var value: Int { sum.load(ordering: .relaxed) }

  func add(_ number: Int) { sum.wrappingAdd(number, ordering: .relaxed) }
}

/// What two ways to do the same cost, measured in turns.
struct Comparison {
  private(set) var plain: [Double] = []
  private(set) var pledge: [Double] = []

  /// Measures each way `rounds` times; every other round begins with the second one.
  ///
  /// - Parameter units: How many calls or messages one round of either way makes.
  mutating func measure(
    rounds: Int, units: Int, plain: () async throws -> Void, pledge: () async throws -> Void
  ) async throws {
    // The first round of each connects, and fills caches.
    try await plain()
    try await pledge()
    for round in 0..<rounds {
      if round.isMultiple(of: 2) {
        self.plain.append(try await cost(of: plain) / Double(units))
        self.pledge.append(try await cost(of: pledge) / Double(units))
      } else {
        self.pledge.append(try await cost(of: pledge) / Double(units))
        self.plain.append(try await cost(of: plain) / Double(units))
      }
    }
  }

  /// The median of the rounds' ratios.
  var ratio: Double { zip(plain, pledge).map { $1 / $0 }.median }

  /// Runs `body` and returns the processor time that the process has used, in microseconds.
  private func cost(of body: () async throws -> Void) async throws -> Double {
    let begin = processorTime
    try await body()
    return processorTime - begin
  }

  private var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
  }
}

extension [Double] {
  var median: Double { sorted()[count / 2] }
}
