import Foundation

/// The result of one library for one workload and size.
struct CellResult: Sendable {
  let workload: Workload
  let library: String
  let size: Int
  var nanoseconds: Double?
  var allocations: Double?
  var bytes: Double?
  var peakBytes: Int?
  /// The reason why some or all numbers are missing.
  var failure: String?
}

/// Starts the children, and collects their reports.
struct Runner {
  let cells: [Registry.Cell]
  let rounds: Int
  let timeout: Int
  private(set) var results: [CellResult] = []
  /// The peak memory of a child that does no work.
  private(set) var idlePeak = 0

  mutating func run() {
    for workload in Workload.all {
      let candidates = cells.filter { $0.workload.name == workload.name }
      var broken: Set<String> = []
      for size in Set(candidates.flatMap(\.sizes)).sorted() {
        let group = candidates.filter { !broken.contains($0.library) && runs($0, at: size) }
        var measured = group.map { cell in
          // The report has allocations and memory of Pledge only.
          cell.library == Goal.library
            ? count(cell, size)
            : CellResult(workload: workload, library: cell.library, size: size)
        }
        time(workload, size, &measured)
        for result in measured where result.failure != nil { broken.insert(result.library) }
        results += measured
      }
    }
  }

  /// Whether a cell takes part at a size; the floor also runs at sizes that only other libraries
  /// use.
  private func runs(_ cell: Registry.Cell, at size: Int) -> Bool {
    if cell.sizes.contains(size) { return true }
    return cell.library == cell.workload.floor && size <= cell.limit?.size ?? .max
  }

  private mutating func count(_ cell: Registry.Cell, _ size: Int) -> CellResult {
    tell("\(cell.workload.name) \(size): counting \(cell.library)")
    var result = CellResult(workload: cell.workload, library: cell.library, size: size)
    do throws(ChildFailure) {
      let counts = try countCell(cell.workload, cell.library, size, timeout: timeout)
      result.allocations = counts.allocations
      result.bytes = counts.bytes
      result.peakBytes = counts.peakBytes
      idlePeak = counts.idlePeakBytes
    } catch {
      result.failure = error.reason
      tell("\(cell.workload.name) \(size): \(cell.library) failed: \(error.reason)")
    }
    return result
  }

  /// Times all cells of a group that have not failed.
  private func time(_ workload: Workload, _ size: Int, _ results: inout [CellResult]) {
    guard rounds > 0 else { return }
    while true {
      let libraries = results.filter { $0.failure == nil }.map(\.library)
      if libraries.isEmpty { return }
      tell("\(workload.name) \(size): timing \(libraries.joined(separator: ", "))")
      var current = ""
      var samples: [String: [Double]] = [:]
      do throws(ChildFailure) {
        try runChild(
          [
            "child-rounds", "--workload", workload.name, "--size", "\(size)",
            "--timed-rounds", "\(rounds)",
          ] + libraries.flatMap { ["--library", $0] }, silence: timeout
        ) { event in
          switch event.name {
          case "start": current = event.library
          case "time": samples[event.library, default: []].append(event.value)
          default: break
          }
        }
        for index in results.indices where results[index].failure == nil {
          results[index].nanoseconds = median(samples[results[index].library] ?? [])
        }
        return
      } catch {
        // Retries without the library that failed.
        tell("\(workload.name) \(size): \(current) failed: \(error.reason)")
        let culprits = results.indices.filter { current.isEmpty || results[$0].library == current }
        for index in culprits { results[index].failure = error.reason }
      }
    }
  }
}

/// The allocations and bytes per unit, counted in a process that ran only one cell.
struct CellCounts {
  var allocations = 0.0
  var bytes = 0.0
  var peakBytes = 0
  var idlePeakBytes = 0
}

/// Runs a cell in its own process, and returns its counts.
func countCell(
  _ workload: Workload, _ library: String, _ size: Int, timeout: Int
) throws(ChildFailure) -> CellCounts {
  var counts = CellCounts()
  try runChild(
    ["child-count", "--workload", workload.name, "--size", "\(size)", "--library", library],
    silence: timeout
  ) { event in
    switch event.name {
    case "idle": counts.idlePeakBytes = Int(event.value)
    case "allocations": counts.allocations = event.value
    case "bytes": counts.bytes = event.value
    case "peak": counts.peakBytes = Int(event.value)
    default: break
    }
  }
  return counts
}

func median(_ samples: [Double]) -> Double? {
  if samples.isEmpty { return nil }
  let sorted = samples.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// Prints a progress message to standard error.
func tell(_ message: String) { FileHandle.standardError.write(Data((message + "\n").utf8)) }
