import ArgumentParser
import Foundation

/// Checks the parts of this program that count and compare.
///
/// A test target would require another debug build of all libraries that are measured.
struct SelfTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the program itself: numbers, tables, goals, baseline.")

  func run() throws {
    var test = Checker()
    test.numbers()
    #if Peers
      test.registry()
      test.goals()
      test.report()
    #endif
    test.events()
    test.costTable()
    test.comparison()
    if test.failures.isEmpty { return print("\(test.passed) checks passed") }
    for failure in test.failures { print("FAILED: \(failure)") }
    throw ExitCode.failure
  }
}

private struct Checker {
  private(set) var failures: [String] = []
  private(set) var passed = 0

  private mutating func expect(_ condition: Bool, _ what: String) {
    if condition { passed += 1 } else { failures.append(what) }
  }

  private mutating func expect<Value: Equatable>(_ value: Value, is expected: Value) {
    expect(value == expected, "got \(value), expected \(expected)")
  }
}

extension Checker {
  mutating func numbers() {
    expect(short(0), is: "0")
    expect(short(0.126), is: "0.13")
    expect(short(1.5), is: "1.5")
    expect(short(2.00), is: "2")
    expect(short(12.34), is: "12.3")
    expect(short(1234.5), is: "1235")
    expect(grouped(999), is: "999")
    expect(grouped(1_000), is: "1,000")
    expect(grouped(10_000_000), is: "10,000,000")
    expect(bytes(100), is: "100 B")
    expect(bytes(1536), is: "1.5 KiB")
    expect(bytes(3 * 1_073_741_824), is: "3 GiB")
    expect(median([]), is: nil)
    expect(median([3, 1, 2]), is: 2)
    expect(median([4, 1, 2, 3]), is: 2.5)
  }

  /// Names are strings, so this checks that they match.
  mutating func registry() {
    let registry = Registry.everything()
    for workload in Workload.all {
      expect(
        registry[workload.name, workload.floor] != nil,
        "\(workload.name) has no floor \(workload.floor)")
      expect(registry[workload.name, Goal.library] != nil, "Pledge has no \(workload.name)")
    }
    for goal in Goal.all {
      guard let workload = Workload[goal.workload] else {
        expect(false, "a goal names \(goal.workload)")
        continue
      }
      expect(workload.sizes.contains(goal.size), "\(goal.workload) has no size \(goal.size)")
      switch goal.measure {
      case .time(let library), .timeOfExtraThens(let library):
        expect(registry[goal.workload, library] != nil, "\(library) has no \(goal.workload)")
      case .timeGrowth(let size), .memoryGrowth(let size):
        expect(workload.sizes.contains(size), "\(goal.workload) has no size \(size)")
      case .allocations, .bytes, .survival: break
      }
    }
    for path in HotPath.all {
      expect(
        registry[path.workload, HotPath.library] != nil, "a hot path names \(path.workload)")
    }
  }

  mutating func events() {
    let event = Event("bench\ttime\tNIO loop\t12.5")
    expect(event?.name, is: "time")
    expect(event?.library, is: "NIO loop")
    expect(event?.value, is: 12.5)
    expect(Event("some other output") == nil, "took a foreign line for an event")
  }

  mutating func costTable() {
    let table = Self.table(instructions: 1727, allocations: 1.3)
    do throws(CostTable.ParseError) {
      expect(try CostTable(parsing: table.text), is: table)
    } catch {
      expect(false, "did not read what it wrote: \(error)")
    }
    for (text, line) in [
      ("chain link instructions", 1), ("# note\nchain link seconds 3", 2),
      ("chain link bytes -1", 1), ("chain link bytes many", 1),
    ] {
      do throws(CostTable.ParseError) {
        _ = try CostTable(parsing: text)
        expect(false, "took '\(text)' for a table")
      } catch {
        expect(error.line, is: line)
      }
    }
  }

  mutating func comparison() {
    let before = Self.table(instructions: 1000, allocations: 0)
    func verdicts(_ now: CostTable) -> [CostComparison.Verdict] {
      CostComparison(of: now, with: before, tolerance: 0.1).rows.map(\.verdict)
    }
    expect(verdicts(before), is: [.same, .same])
    expect(verdicts(Self.table(instructions: 1090, allocations: 0.01)), is: [.same, .same])
    expect(verdicts(Self.table(instructions: 1110, allocations: 0.2)), is: [.worse, .worse])
    expect(verdicts(Self.table(instructions: 800, allocations: 0)), is: [.better, .same])

    var grown = before
    grown.costs.append(
      Cost(workload: "new", unit: "link", quantity: .bytes, value: 1))
    expect(CostComparison(of: before, with: before, tolerance: 0.1).passes, "failed its own costs")
    expect(!CostComparison(of: grown, with: before, tolerance: 0.1).passes, "let a new cost pass")
    expect(!CostComparison(of: before, with: grown, tolerance: 0.1).passes, "let a stale cost pass")
    let worse = CostComparison(
      of: Self.table(instructions: 1110, allocations: 0), with: before, tolerance: 0.1)
    expect(!worse.passes, "let a grown cost pass")
    expect(worse.text.contains("WORSE (+11.0 %)"), "does not say by how much:\n\(worse.text)")
  }

  private static func table(instructions: Double, allocations: Double) -> CostTable {
    CostTable(
      toolchain: "Swift 6.3, x86_64",
      costs: [
        Cost(workload: "chain", unit: "link", quantity: .instructions, value: instructions),
        Cost(workload: "chain", unit: "link", quantity: .allocations, value: allocations),
      ])
  }

  mutating func goals() {
    func outcomes(_ pledge: Double, failure: String? = nil) -> [Goal.Outcome] {
      let report = Self.report(pledge: pledge, failure: failure)
      return Goal.all.filter { $0.workload == "inline-chain" && $0.library == Goal.library }
        .map { $0.outcome(in: report) }
    }
    // Closures take 100 ns and NIO 400 ns, so the goals are 250 ns, 200 ns, and two allocations.
    expect(outcomes(150), is: [.met(1.5), .met(0.375), .met(1)])
    expect(outcomes(240), is: [.met(2.4), .missed(0.6), .met(1)])
    expect(outcomes(1, failure: "crash").first, is: .missed(.infinity))
    let others = Goal.all.filter { $0.workload != "inline-chain" }
    let report = Self.report(pledge: 150)
    expect(
      others.allSatisfy { $0.outcome(in: report) == .unknown }, "judged what was not measured")
  }

  mutating func report() {
    let text = Self.report(pledge: 240).markdown(
      arguments: ["--filter", "a b"], rounds: 3)
    for part in [
      "bench --filter 'a b'", "- **inline-chain**, per link",
      "| inline-chain | 10,000 | Closures: 100 ns | 2.4 × | 1 × | 4 × | 0.6 | 1 | 40 | 1 MiB |",
      "| 2.4 | met |", "| 0.6 | **missed** |",
    ] {
      expect(text.contains(part), "the report lacks '\(part)'")
    }
  }

  /// Returns a run of one workload with known times.
  private static func report(pledge: Double, failure: String? = nil) -> Report {
    let registry = Registry.everything()
    let libraries = ["Pledge", "Closures", "NIO embedded"]
    let times = [pledge, 100, 400]
    let cells = libraries.compactMap { registry["inline-chain", $0] }
    let results = zip(cells, times).map { cell, time in
      CellResult(
        workload: cell.workload, library: cell.library, size: 10_000, nanoseconds: time,
        allocations: 1, bytes: 40, peakBytes: 1 << 20,
        failure: cell.library == "Pledge" ? failure : nil)
    }
    return Report(results: results, cells: cells, idlePeak: 1 << 20)
  }
}
