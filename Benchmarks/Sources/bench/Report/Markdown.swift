import Foundation

extension Report {
  /// Returns the goals, the ratios of all workloads, the plots, and the numbers of each workload.
  ///
  /// - Parameters:
  /// - arguments: The command's arguments.
  /// - rounds: The minimum number of timed rounds.
  /// - plots: Titles and paths of the plots, as links from the text.
  func markdown(
    arguments: [String], rounds: Int, plots: [(title: String, path: String)] = []
  ) -> String {
    var text = "# Benchmark results\n\n"
    text += "```sh\nswift run -c release --package-path Benchmarks bench"
    text += arguments.map { " " + quoted($0) }.joined() + "\n```\n\n"
    text += Machine.summary + ".\n\n"
    text += """
      Times are medians of at least \(rounds) rounds, with all libraries of a workload interleaved \
      in one process, in a new order every round. Ratios are against the floor of the workload, \
      which is code written by hand for just that task, and against SwiftNIO's futures (on an \
      embedded loop where the work is done in place). Bytes are usable sizes of heap blocks. Peak \
      memory is that of a whole process that ran just one cell; a process that does nothing has \
      \(bytes(Double(idlePeak))).

      In \(lockStepWorkloads) one thread always waits for another, so they run on one core: the \
      time to wake a second one differs tenfold from round to round and would hide all else.


      """
    text += goals()
    text += overview()
    if !plots.isEmpty {
      text += "## Cost against size\n\n"
      for plot in plots { text += "![\(plot.title)](\(plot.path))\n\n" }
    }
    for workload in Workload.all { text += details(of: workload) }
    return text.trimmingCharacters(in: .newlines) + "\n"
  }

  private var lockStepWorkloads: String {
    Workload.all.filter(\.isLockStep).map { "`\($0.name)`" }.joined(separator: ", ")
  }

  private func goals() -> String {
    let rows = Goal.all.filter { $0.outcome(in: self) != .unknown }.map { $0.row(in: self) }
    if rows.isEmpty { return "" }
    var text = "## Goals\n\n"
    text += row(["workload", "size", "what", "goal", "result", ""])
    text += row(["---", "---:", "---", "---:", "---:", "---"])
    for cells in rows { text += row(cells) }
    return text + "\n"
  }

  private func overview() -> String {
    var text = "## Cost as a multiple of the floor\n\n"
    // Libraries with only one workload are variants of others, and appear further down.
    let everything = Registry.everything().cells
    let columns = libraries.filter { name in everything.count { $0.library == name } > 1 }
    text += row(["workload", "size", "floor"] + columns + ["Pledge : NIO"])
    text += row(["---", "---:", "---:"] + columns.map { _ in "---:" } + ["---:"])
    for workload in Workload.all {
      for size in sizes(of: workload) where workload.sizes.contains(size) {
        let floor = result(workload, workload.floor, size)?.nanoseconds
        var cells = [workload.name, grouped(size)]
        cells.append(floor.map { "\(workload.floor): \(short($0)) ns" } ?? "")
        cells += columns.map { brief(workload, $0, size, floor) }
        cells.append(ratioToNIO(result(workload, Goal.library, size)))
        text += row(cells)
      }
    }
    return text + "\n"
  }

  private func brief(
    _ workload: Workload, _ library: String, _ size: Int, _ floor: Double?
  ) -> String {
    guard let result = result(workload, library, size) else {
      return isBeyondLimit(workload, library, size) ? "✗" : ""
    }
    if result.failure != nil { return "✗" }
    guard let time = result.nanoseconds else { return "" }
    guard let floor else { return short(time) + " ns" }
    return library == workload.floor ? "1 ×" : short(time / floor) + " ×"
  }

  private func details(of workload: Workload) -> String {
    let sizes = sizes(of: workload)
    if sizes.isEmpty { return "" }
    var text = "## \(workload.name)\n\n\(workload.summary) Costs are per \(workload.unit).\n\n"
    text += row([
      "library", "size", "ns", "× \(workload.floor)", "× NIO", "allocations", "bytes",
      "peak memory",
    ])
    text += row(["---"] + Array(repeating: "---:", count: 7))
    for library in libraries {
      for size in sizes {
        guard let cells = numbers(workload, library, size) else { continue }
        text += row(cells)
      }
    }
    let remarks = self.remarks(on: workload)
    if !remarks.isEmpty { text += "\n" + remarks.joined(separator: "\n") + "\n" }
    return text + "\n"
  }

  private func numbers(_ workload: Workload, _ library: String, _ size: Int) -> [String]? {
    let name = [library, grouped(size)]
    guard let result = result(workload, library, size) else {
      guard isBeyondLimit(workload, library, size), let limit = cell(workload, library)?.limit
      else { return nil }
      return name + ["✗ \(limit.reason)", "", "", "", "", ""]
    }
    if let failure = result.failure { return name + ["✗ \(failure)", "", "", "", "", ""] }
    let floor = self.result(workload, workload.floor, size)
    return name + [
      result.nanoseconds.map(short) ?? "", ratio(result, to: floor), ratioToNIO(result),
      result.allocations.map(short) ?? "", result.bytes.map(short) ?? "",
      result.peakBytes.map { bytes(Double($0)) } ?? "",
    ]
  }

  private func ratio(_ result: CellResult?, to other: CellResult?) -> String {
    guard let time = result?.nanoseconds, let reference = other?.nanoseconds else { return "" }
    return short(time / reference)
  }

  private func ratioToNIO(_ result: CellResult?) -> String {
    guard let result else { return "" }
    let peers = ["NIO embedded", "NIO loop"].lazy.compactMap {
      self.result(result.workload, $0, result.size)
    }
    return ratio(result, to: peers.first { $0.nanoseconds != nil })
  }

  private func remarks(on workload: Workload) -> [String] {
    libraries.compactMap { library in
      guard let cell = cell(workload, library) else { return nil }
      var parts: [String] = []
      if let note = cell.note { parts.append(note) }
      if let limit = cell.limit {
        let survives = "survives \(grouped(limit.size)), beyond that "
        parts.append((limit.size > 0 ? survives : "") + limit.reason)
      }
      return parts.isEmpty ? nil : "- \(library): " + parts.joined(separator: "; ") + "."
    }
  }

  /// Whether a library wasn't run at one of the workload's sizes because that is beyond its limit.
  private func isBeyondLimit(_ workload: Workload, _ library: String, _ size: Int) -> Bool {
    guard let limit = cell(workload, library)?.limit else { return false }
    return workload.sizes.contains(size) && size > limit.size
  }

  private func row(_ cells: [String]) -> String {
    "| " + cells.joined(separator: " | ") + " |\n"
  }

  private func quoted(_ argument: String) -> String {
    let plain = argument.allSatisfy { $0.isLetter || $0.isNumber || "-_./,=:".contains($0) }
    return plain ? argument : "'\(argument)'"
  }
}
