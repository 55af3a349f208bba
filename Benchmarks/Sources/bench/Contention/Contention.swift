import ArgumentParser
import Foundation

/// Measures what adding threads does to throughput, and the longest that one unit of work takes.
struct Contention: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure policies, timers, scopes, and executors with 1 to 32 threads.",
    discussion: """
      Each thread does units of work in a loop, up to 64 before it waits for them to end. Beside \
      Pledge, each row has the same work with an actor and with a mutex, written by hand. The longest \
      time of a unit includes the time for which its thread had no core.
      """)

  @Option(help: "Only rows whose name matches this regular expression.")
  var rows = ""
  @Option(help: "The numbers of threads.")
  var threads: [Int] = [1, 2, 4, 8, 32]
  @Option(help: "Milliseconds for each measurement.")
  var milliseconds = 200
  @Option(help: "Measurements of each; the median is printed.")
  var rounds = 3

  func run() throws {
    let pattern = try Regex(rows)
    let contenders = ["Pledge", "actor", "mutex"]
    print("| | | \(threads.map { "\($0)" }.joined(separator: " | ")) | 8 ÷ 1 | longest, ms |")
    print("|---|---|\(threads.map { _ in "---|" }.joined())---|---|")
    for row in ContentionRow.all where row.name.contains(pattern) {
      for (contender, make) in zip(contenders, [row.pledge, row.actor, row.mutex]) {
        guard let make else { continue }
        let samples = threads.map { count in
          (0..<rounds).map { _ in measure(count, make) }.sorted { $0.perSecond < $1.perSecond }
        }
        let medians = samples.map { $0[rounds / 2].perSecond }
        let longest = samples.map { $0.map(\.longest).sorted()[rounds / 2] }
        let ratio = zip(threads, medians).first { $0.0 == 8 }.map { $0.1 / medians[0] }
        print(
          "| \(row.name) | \(contender) | ",
          medians.map { "\(Int($0 / 1000)) k" }.joined(separator: " | "),
          " | ", ratio.map { String(format: "%.2f", $0) } ?? "–",
          " | ", longest.map { String(format: "%.1f", $0) }.joined(separator: ", "), " |",
          separator: "")
        fflush(nil)
      }
    }
  }

  private func measure(
    _ threads: Int, _ make: @Sendable (Int) -> ContentionRow.Work
  ) -> (perSecond: Double, longest: Double) {
    let work = make(threads)
    let lanes = (0..<threads).map { _ in Lane() }
    let done = Latch(threads)
    let start = DispatchTime.now().uptimeNanoseconds
    let end = start + UInt64(milliseconds) * 1_000_000
    for (index, lane) in lanes.enumerated() {
      let thread = Thread {
        while DispatchTime.now().uptimeNanoseconds < end { lane.runBatch(index, work) }
        done.countDown()
      }
      thread.stackSize = 1 << 20
      thread.start()
    }
    done.wait()
    let time = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    let units = lanes.map(\.units).reduce(0, +)
    return (Double(units) / time, Double(lanes.map(\.longest).max() ?? 0) / 1e6)
  }
}
