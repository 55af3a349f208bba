import Foundation

extension Report {
  /// Returns the goals, and a row for each workload and size.
  ///
  /// - Parameters:
  ///   - arguments: The command's arguments.
  ///   - rounds: The minimum number of timed rounds.
  func markdown(arguments: [String], rounds: Int) -> String {
    var text = "# Benchmark results\n\n"
    text += "```sh\nswift run -c release --package-path Benchmarks bench"
    text += arguments.map { " " + quoted($0) }.joined() + "\n```\n\n"
    text += Machine.summary + ".\n\n"
    text += """
      Times are medians of at least \(rounds) rounds, with all libraries of a workload interleaved \
      in one process, in a new order every round. Ratios are against the floor of the workload, \
      which is code written by hand for just that task, and against SwiftNIO's futures (on an \
      embedded loop where the work is done in place). Allocations, bytes (usable sizes of heap \
      blocks), and peak memory are Pledge's. The peak is that of a whole process that ran just one \
      cell; a process that does nothing has \(bytes(Double(idlePeak))).

      In \(lockStepWorkloads) one thread always waits for another, so they run on one core: the \
      time to wake a second one differs tenfold from round to round and would hide all else.


      """
    text += goals() + overview() + remarks()
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
    // A library with only one workload is its floor, which has a column.
    let everything = Registry.everything().cells
    let columns = libraries.filter { name in everything.count { $0.library == name } > 1 }
    let own = ["Pledge : NIO", "allocations", "bytes", "peak memory"]
    text += row(["workload", "size", "floor"] + columns + own)
    text += row(["---", "---:", "---:"] + (columns + own).map { _ in "---:" })
    for workload in Workload.all {
      for size in sizes(of: workload) where workload.sizes.contains(size) {
        let floor = result(workload, workload.floor, size)?.nanoseconds
        var cells = [workload.name, grouped(size)]
        cells.append(floor.map { "\(workload.floor): \(short($0)) ns" } ?? "")
        cells += columns.map { brief(workload, $0, size, floor) }
        let pledge = result(workload, Goal.library, size)
        cells += [
          ratioToNIO(pledge), pledge?.allocations.map(short) ?? "",
          pledge?.bytes.map(short) ?? "", pledge?.peakBytes.map { bytes(Double($0)) } ?? "",
        ]
        text += row(cells)
      }
    }
    return text + "\n"
  }

  private func brief(
    _ workload: Workload, _ library: String, _ size: Int, _ floor: Double?
  ) -> String {
    guard let result = result(workload, library, size) else {
      // Whether it wasn't run because the size is beyond its limit.
      let limit = workload.sizes.contains(size) ? cell(workload, library)?.limit?.size : nil
      return size > limit ?? .max ? "✗" : ""
    }
    if result.failure != nil { return "✗" }
    guard let time = result.nanoseconds else { return "" }
    guard let floor else { return short(time) + " ns" }
    return library == workload.floor ? "1 ×" : short(time / floor) + " ×"
  }

  private func ratioToNIO(_ result: CellResult?) -> String {
    guard let result, let time = result.nanoseconds else { return "" }
    let peers = ["NIO embedded", "NIO loop"].lazy.compactMap {
      self.result(result.workload, $0, result.size)?.nanoseconds
    }
    return peers.first.map { short(time / $0) } ?? ""
  }

  /// What each workload is, and what the libraries use for it.
  private func remarks() -> String {
    var text = "## Workloads\n\n"
    for workload in Workload.all where !sizes(of: workload).isEmpty {
      text += "- **\(workload.name)**, per \(workload.unit): \(workload.summary)"
      for library in libraries {
        guard let cell = cell(workload, library) else { continue }
        let limit = cell.limit.map { "above \(grouped($0.size)): \($0.reason)" }
        let remarks = [cell.note, limit].compactMap(\.self)
        if !remarks.isEmpty { text += " \(library): \(remarks.joined(separator: "; "))." }
      }
      text += "\n"
    }
    return text
  }

  private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |\n" }

  private func quoted(_ argument: String) -> String {
    let plain = argument.allSatisfy { $0.isLetter || $0.isNumber || "-_./,=:".contains($0) }
    return plain ? argument : "'\(argument)'"
  }
}
