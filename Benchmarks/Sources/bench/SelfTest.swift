import ArgumentParser

/// Checks that names match, the comparison that decides `check-costs`, and how numbers are written.
///
/// A test target would require another debug build of all libraries that are measured.
struct SelfTest: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the program itself: names of workloads, comparison of costs, numbers.")

  func run() throws {
    var test = Checker()
    #if Peers
      test.registry()
    #endif
    test.costTable()
    test.comparison()
    test.numbers()
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
      expect(registry[path.workload, HotPath.library] != nil, "a hot path names \(path.workload)")
    }
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
    grown.costs.append(Cost(workload: "new", unit: "link", quantity: .bytes, value: 1))
    expect(CostComparison(of: before, with: before, tolerance: 0.1).passes, "failed its own costs")
    expect(!CostComparison(of: grown, with: before, tolerance: 0.1).passes, "let a new cost pass")
    expect(!CostComparison(of: before, with: grown, tolerance: 0.1).passes, "let a stale cost pass")
    let worse = CostComparison(
      of: Self.table(instructions: 1110, allocations: 0), with: before, tolerance: 0.1)
    expect(!worse.passes, "let a grown cost pass")
    expect(worse.text.contains("WORSE (+11.0 %)"), "does not say by how much:\n\(worse.text)")
  }

  mutating func numbers() {
    for (number, text) in [
      (0, "0"), (0.126, "0.13"), (1.2, "1.2"), (9.996, "10"), (12.34, "12.3"), (99.96, "100"),
      (1234.5, "1235"),
    ] { expect(short(number), is: text) }
    expect([1023, 1536, 3 * 1024 * 1024 * 1024].map(bytes), is: ["1023 B", "1.5 KiB", "3 GiB"])
    expect([0, 999, 1000, 1_234_567].map(grouped), is: ["0", "999", "1,000", "1,234,567"])
  }

  private static func table(instructions: Double, allocations: Double) -> CostTable {
    CostTable(
      toolchain: "Swift 6.3, x86_64",
      costs: [
        Cost(workload: "chain", unit: "link", quantity: .instructions, value: instructions),
        Cost(workload: "chain", unit: "link", quantity: .allocations, value: allocations),
      ])
  }
}
