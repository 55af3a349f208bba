import Foundation
import Pledge
import PledgeDiagnostics

/// Measures what a trace costs.
///
/// The times are processor times, and the measurements of a workload are interleaved, because other
/// processes disturb both.
@main
enum Tracing {
  enum Mode: String, CaseIterable {
    case off = "no trace"
    case sample = "one in 100"
    case withoutPlaces = "without locations"
    case withPlaces = "with locations"

    func start() -> Trace? {
      switch self {
      case .off: nil
      case .sample: Trace.start(samplingInterval: 100)
      case .withoutPlaces: Trace.start(capturesPlaces: false)
      case .withPlaces: Trace.start()
      }
    }
  }

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    let number = arguments.last.flatMap { Int($0) }
    if let kind = arguments.first, ["released", "pending"].contains(kind) {
      return printMemory(of: number ?? 50_000, isPending: kind == "pending")
    }
    if arguments.first == "work", let number,
      let index = arguments.dropFirst().first.flatMap({ Int($0) }),
      Mode.allCases.indices.contains(index)
    {
      return work(Mode.allCases[index], calls: number)
    }
    if arguments.first == "threads" { return await printThreads(number ?? 40) }
    let rounds = arguments.first.flatMap { Int($0) } ?? 7
    await printCosts(rounds)
    await printThreads(rounds * 4)
    try printReports()
  }

  private static func printCosts(_ rounds: Int) async {
    print("| Work | \(Mode.allCases.map(\.rawValue).joined(separator: " | ")) |")
    print("|---|\(Mode.allCases.map { _ in "---|" }.joined())")
    for workload in Workload.all {
      var times: [Mode: [Double]] = [:]
      for _ in 0..<rounds {
        for mode in Mode.allCases { times[mode, default: []].append(await measure(workload, mode)) }
      }
      let medians = Mode.allCases.map { median(times[$0] ?? []) }
      let cells = medians.map { time in
        String(format: "%.0f ns", time * 1e9)
          + (time == medians[0] ? "" : String(format: " (%.1f ×)", time / medians[0]))
      }
      print("| \(workload.name) | \(cells.joined(separator: " | ")) |")
      fflush(nil)
    }
  }

  private static func measure(_ workload: Workload, _ mode: Mode) async -> Double {
    let trace = mode.start()
    defer { trace?.stop() }
    for _ in 0..<workload.calls / 100 { await workload.run() }
    let start = processorTime()
    for _ in 0..<workload.calls { await workload.run() }
    return (processorTime() - start) / Double(workload.calls * workload.promises)
  }

  /// Only runs the first workload, for a tool that counts instructions.
  private static func work(_ mode: Mode, calls: Int) {
    let trace = mode.start()
    for _ in 0..<calls { Workload.round() }
    trace?.stop()
  }

  /// Prints the throughput of eight threads as a multiple of one thread's, and likewise the processor
  /// time of a round: medians of the ratios of pairs, with the quartiles.
  ///
  /// The runs of a pair follow one another, because other processes disturb both alike.
  private static func printThreads(_ rounds: Int) async {
    var ratios: [Mode: [(rate: Double, cost: Double)]] = [:]
    for _ in 0..<rounds {
      for mode in Mode.allCases {
        let one = await run(threads: 1, mode)
        let eight = await run(threads: 8, mode)
        ratios[mode, default: []].append((one.seconds / eight.seconds, eight.cost / one.cost))
      }
    }
    func text(_ values: [Double]) -> String {
      let sorted = values.sorted()
      let parts = [2, 1, 3].map { sorted[sorted.count * $0 / 4] }
      return String(format: "%.2f (%.2f to %.2f)", parts[0], parts[1], parts[2])
    }
    for mode in Mode.allCases {
      let ratios = ratios[mode] ?? []
      print(
        "\(mode.rawValue), 8 threads ÷ 1: \(text(ratios.map(\.rate))),",
        "processor time \(text(ratios.map(\.cost)))")
    }
  }

  /// Returns the time and the processor time of as many rounds with any number of threads.
  private static func run(threads: Int, _ mode: Mode) async -> (seconds: Double, cost: Double) {
    let trace = mode.start()
    defer { trace?.stop() }
    let (start, cost) = (ContinuousClock.now, processorTime())
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<threads {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              for _ in 0..<80_000 / threads { Workload.round() }
              continuation.resume()
            }
          }
        }
      }
    }
    return ((ContinuousClock.now - start) / .seconds(1), processorTime() - cost)
  }

  /// Prints the bytes that a trace takes for each promise: as events in a buffer, as a record, and
  /// after a report.
  ///
  /// Memory is reused, so each measurement needs a process of its own.
  private static func printMemory(of count: Int, isPending: Bool) {
    let sources = (0..<2 * count).map { _ in Promise<Int>.withResolvers() }
    func work(_ sources: ArraySlice<(promise: Promise<Int>, resolver: Resolver<Int>)>) -> Int {
      let before = residentBytes()
      for source in sources {
        if isPending { _ = source.promise.map(on: .immediate) { $0 + 1 } } else { Workload.round() }
      }
      return residentBytes() - before
    }
    // Memory of the promises themselves doesn't count.
    let own = work(sources[..<count])
    let trace = Trace.start(limit: nil)
    let recorded = work(sources[count...]) - own
    let before = residentBytes() - recorded
    let promises = trace.count
    let counted = residentBytes() - before
    _ = trace.lastUnhandledErrorPath()
    let reported = residentBytes() - before
    print(
      "bytes for each of \(promises) promises: \(recorded / promises) as events,",
      "\(counted / promises) as a record, \(reported / promises) after a report")
    trace.stop()
    for source in sources { source.resolver.fulfill(1) }
  }

  /// Prints the seconds that reports of 100,000 pending promises take.
  private static func printReports() throws {
    let trace = Trace.start(limit: nil)
    let pairs = (0..<100_000).map { _ in Promise<Int>.withResolvers() }
    for (name, report) in [
      ("first report", { trace.count }),
      ("tree", { trace.pendingTree().description.utf8.count }),
      ("page", { try trace.timelinePage().count }),
    ] as [(String, () throws -> Int)] {
      let start = processorTime()
      let size = try report()
      print("\(name) of 100,000: \(String(format: "%.2f s", processorTime() - start)), \(size)")
    }
    trace.stop()
    for pair in pairs { pair.resolver.fulfill(1) }
  }

  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func residentBytes() -> Int {
    let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      .split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return (pages ?? 0) * Int(getpagesize())
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
