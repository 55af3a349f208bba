import ArgumentParser
import Foundation

@main
struct Bench: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures promise libraries against each other and against hand-written code.",
    discussion: """
      Of each workload, all libraries are timed in one process, interleaved, in a new order every \
      round; the result is the median. Allocations and peak memory come from a process for each \
      cell. Compare the ratios of one run, never times of two runs.
      """,
    subcommands: [
      Check.self, Contention.self, SelfTest.self, RunCell.self, Rounds.self, Count.self,
    ])

  @Option(help: "Only cells whose 'workload/library' matches this regular expression.")
  var filter: String?
  @Option(help: "Timed rounds, at least; 0 only counts allocations and memory.")
  var rounds = 7
  @Option(help: "Give up a cell that takes longer than so many seconds for a round.")
  var timeout = 120
  @Option(help: "Write the tables to this Markdown file, rather than to standard output.")
  var md: String?
  @Flag(help: "List workloads and libraries, and measure nothing.")
  var list = false

  func validate() throws {
    if rounds < 0 { throw ValidationError("--rounds must not be negative.") }
    if let filter, (try? Regex(filter)) == nil {
      throw ValidationError("--filter '\(filter)' is not a regular expression.")
    }
  }

  func run() throws {
    let cells = try selectedCells()
    if cells.isEmpty { throw ValidationError("No cell matches.") }
    if list { return printList(cells) }

    var runner = Runner(cells: cells, rounds: rounds, timeout: timeout)
    runner.run()
    let report = Report(results: runner.results, cells: cells, idlePeak: runner.idlePeak)
    let tables = report.markdown(
      arguments: Array(CommandLine.arguments.dropFirst()), rounds: rounds)
    guard let md else { return print(tables) }
    try tables.write(toFile: md, atomically: true, encoding: .utf8)
  }

  private func selectedCells() throws -> [Registry.Cell] {
    let cells = Registry.everything().cells
    guard let filter else { return cells }
    let pattern = try Regex(filter)
    return cells.filter { "\($0.workload.name)/\($0.library)".contains(pattern) }
  }

  private func printList(_ cells: [Registry.Cell]) {
    for workload in Workload.all {
      let libraries = cells.filter { $0.workload.name == workload.name }.map(\.library)
      if libraries.isEmpty { continue }
      let sizes = workload.sizes.map(String.init).joined(separator: ", ")
      print("\(workload.name) (\(sizes)), per \(workload.unit)")
      print("    \(workload.summary)")
      print("    \(libraries.joined(separator: ", "))")
    }
  }
}
