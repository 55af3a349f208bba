import Foundation

extension Report {
  /// The tables: ratios of all workloads first, then the numbers of each.
  func markdown(arguments: [String], rounds: Int) -> String {
    var text = "# Benchmark results\n\n"
    text += "```\nswift run -c release --package-path Benchmarks bench"
    text += arguments.map { " " + quoted($0) }.joined() + "\n```\n\n"
    text += machine() + "\n\n"
    text += """
      Times are medians of at least \(rounds) rounds, with all libraries of a workload interleaved in one \
      process. Ratios are against the floor of the workload, which is code written by hand for \
      just that task. Bytes are usable sizes of heap blocks. Peak memory is that of a whole \
      process that ran just one cell; a process that does nothing has \(bytes(Double(idlePeak))).


      """
    text += overview()
    for workload in Workload.all { text += details(of: workload) }
    return text
  }

  private func machine() -> String {
    var facts = ["\(ProcessInfo.processInfo.activeProcessorCount) cores"]
    let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }
    if let name = model?.split(separator: ":").last {
      facts.append(name.trimmingCharacters(in: .whitespaces))
    }
    facts.append(ProcessInfo.processInfo.operatingSystemVersionString)
    return facts.joined(separator: ", ") + "."
  }

  private func overview() -> String {
    var text = "## Cost as a multiple of the floor\n\n"
    // Those with one workload only are variants of others, and are found further down.
    let everything = Registry.everything().cells
    let columns = libraries.filter { name in everything.count { $0.library == name } > 1 }
    text += row(["workload", "size", "floor"] + columns)
    text += row(["---", "---:", "---:"] + columns.map { _ in "---:" })
    for workload in Workload.all {
      for size in sizes(of: workload) where workload.sizes.contains(size) {
        let floor = result(workload, workload.floor, size)?.nanoseconds
        var cells = [workload.name, grouped(size)]
        cells.append(floor.map { "\(workload.floor): \(short($0)) ns" } ?? "")
        cells += columns.map { brief(workload, $0, size, floor) }
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
      "library", "size", "ns", "× \(workload.floor)", "allocations", "bytes", "peak memory",
    ])
    text += row(["---"] + Array(repeating: "---:", count: 6))
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
      return name + ["✗ \(limit.reason)", "", "", "", ""]
    }
    if let failure = result.failure { return name + ["✗ \(failure)", "", "", "", ""] }
    var ratio = ""
    if let floor = self.result(workload, workload.floor, size)?.nanoseconds,
      let time = result.nanoseconds
    {
      ratio = short(time / floor)
    }
    return name + [
      result.nanoseconds.map(short) ?? "", ratio, result.allocations.map(short) ?? "",
      result.bytes.map(short) ?? "", result.peakBytes.map { bytes(Double($0)) } ?? "",
    ]
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

  /// Whether a library was not tried at one of the workload's own sizes because it would not live.
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
