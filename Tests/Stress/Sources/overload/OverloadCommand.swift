import ArgumentParser
import Foundation

@main
struct OverloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "overload",
    abstract: "Simulates 1,000 clients of a service that fails, slows down, and recovers.",
    discussion: """
      Prints a table: the successful calls per second before, during, and after the disturbances, \
      the latency of 99 of 100 of those that succeed afterward, and the requests for each call. \
      Time is virtual.

      Exit status: 0 if the recommended policies recover in every run, 1 if not.
      """)

  @Option(help: "The first seed.")
  var seed: UInt64 = 1
  @Option(help: "How many seeds; the table contains the means.")
  var seeds = 3
  @Option(
    help: "A file for the successful calls of each second, such as Documentation/overload.txt.")
  var samples: String?

  func validate() throws {
    guard (1...1_000).contains(seeds) else {
      throw ValidationError("--seeds must be from 1 to 1000, not \(seeds).")
    }
  }

  func run() async throws {
    let needed = Double(Simulation.clients) * Simulation.callsPerSecond
    print("| Policies | Before | Failing | Slow | After | p99 after, ms | Requests per call |")
    print("|---|---|---|---|---|---|---|")
    var lines = [
      "# Successful calls in each second of the simulation of overload, in three runs. To update it, run",
      "# swift run -c release --package-path Tests overload --samples Documentation/overload.txt",
      "# and Scripts/draw-diagrams.",
    ]
    var hasRecovered = true
    for plan in Plan.all {
      var outcomes: [Outcome] = []
      for number in 0..<UInt64(seeds) {
        outcomes.append(await Simulation.run(plan, seed: seed &+ number &* 1_000))
      }
      if plan.name.hasPrefix("recommended") {
        hasRecovered = outcomes.allSatisfy { $0.goodput(Simulation.after) > 0.95 * needed }
      }
      lines += ["= \(plan.name)"] + outcomes.map(Self.sample)
      func mean(_ value: (Outcome) -> Double) -> Double {
        outcomes.map(value).reduce(0, +) / Double(outcomes.count)
      }
      let periods = [
        Simulation.before, Simulation.failing, Simulation.slow, Simulation.after,
      ].map { period in String(format: "%.0f", mean { $0.goodput(period) }) }
      let latencies = outcomes.compactMap { $0.p99(Simulation.after) }
      let latency =
        latencies.isEmpty
        ? "–" : String(format: "%.0f", latencies.reduce(0, +) / Double(latencies.count) * 1_000)
      let amplification = String(format: "%.2f", mean(\.amplification))
      print(
        "| \(plan.name) | \(periods.joined(separator: " | ")) | \(latency) | \(amplification) |")
    }
    if let samples {
      let text = lines.joined(separator: "\n") + "\n"
      try text.write(toFile: samples, atomically: true, encoding: .utf8)
    }
    guard hasRecovered else {
      print("The recommended policies don't recover.")
      throw ExitCode.failure
    }
  }

  /// The successful calls of each second.
  private static func sample(_ outcome: Outcome) -> String {
    let seconds = (0..<Int(Simulation.after.upperBound)).map(Double.init)
    return seconds.map { String(format: "%.0f", outcome.goodput($0..<($0 + 1))) }
      .joined(separator: " ")
  }
}
