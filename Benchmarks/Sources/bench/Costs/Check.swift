import ArgumentParser
import Foundation
import MallocCounter

/// Compares the costs of Pledge's hot paths with a baseline.
struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Fail if a hot path costs more than the baseline says.",
    discussion: """
      Counts instructions, under valgrind, and allocations, never time: so the verdict is the same \
      on any machine with the same compiler and kind of processor, busy or not.
      """)

  @Option(help: "The file with the baseline.")
  var baseline = "Benchmarks/costs.txt"
  @Option(help: "By how many per cent a cost may grow.")
  var tolerance = 10.0
  @Flag(help: "Write the baseline rather than compare with it.")
  var update = false

  func run() throws {
    // Read first, so that a missing baseline is reported before the measurements.
    let before = update ? nil : try readBaseline()
    let now = try measure()
    guard let before else {
      try now.text.write(toFile: baseline, atomically: true, encoding: .utf8)
      return print("\(now.text)\nWrote \(baseline).")
    }
    let comparison = CostComparison(of: now, with: before, tolerance: tolerance / 100)
    print(comparison.text)
    if before.toolchain != now.toolchain {
      print("The baseline is of \(before.toolchain), this is \(now.toolchain): numbers may differ.")
    }
    if comparison.passes {
      return print("No cost is more than \(short(tolerance)) % above its baseline.")
    }
    print(
      """
      Some costs are more than \(short(tolerance)) % above their baseline, or have none. \
      If that is meant, run Benchmarks/check-costs --update and say why in the commit.
      """)
    throw ExitCode.failure
  }

  private func readBaseline() throws -> CostTable {
    guard let text = try? String(contentsOfFile: baseline, encoding: .utf8) else {
      throw ToolError(description: "Cannot read \(baseline); --update writes it.")
    }
    do { return try CostTable(parsing: text) } catch {
      throw ToolError(description: "\(baseline), \(error)")
    }
  }

  private func measure() throws -> CostTable {
    guard malloc_counter_is_available() else {
      throw ToolError(description: "Allocations can be counted on Linux with glibc only.")
    }
    let counter = try InstructionCounter()
    let registry = Registry.everything()
    var costs: [Cost] = []
    for path in HotPath.all {
      guard let workload = registry[path.workload, HotPath.library]?.workload else {
        fatalError("\(HotPath.library) has no \(path.workload)")
      }
      let counts: CellCounts
      do throws(ChildFailure) {
        counts = try countCell(workload, HotPath.library, path.size, timeout: 60)
      } catch {
        throw ToolError(description: "\(path.workload) failed: \(error.reason)")
      }
      for quantity in path.quantities {
        let value =
          switch quantity {
          case .allocations: counts.allocations
          case .bytes: counts.bytes
          case .instructions:
            try counter.instructionsPerUnit(
              workload, HotPath.library, size: path.size, times: path.times)
          }
        let cost = Cost(
          workload: workload.name, unit: workload.unit, quantity: quantity, value: value)
        tell("\(cost.label): \(quantity.format(value))")
        costs.append(cost)
      }
    }
    return CostTable(toolchain: Machine.toolchain, costs: costs)
  }
}
