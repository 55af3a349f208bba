import Foundation

/// The cost of one unit of work on a hot path.
struct Cost: Equatable {
  let workload: String
  let unit: String
  let quantity: Quantity
  let value: Double

  var label: String { "\(workload), \(quantity.rawValue) per \(unit)" }

  /// What it is, as the first columns of a table.
  var columns: String {
    workload.padded(to: 20) + unit.padded(to: 10) + quantity.rawValue.padded(to: 14)
  }

  /// Returns the maximum of the current value, given this baseline.
  func limit(tolerance: Double) -> Double {
    let tolerance = max(tolerance, HotPath.noise[workload] ?? 0)
    return max(value * (1 + tolerance), value + quantity.slack)
  }
}

/// The costs of all hot paths, as stored in the baseline's file.
struct CostTable: Equatable {
  /// The compiler and the processor type, on which the numbers depend.
  var toolchain: String
  var costs: [Cost]

  subscript(workload: String, quantity: Quantity) -> Cost? {
    costs.first { $0.workload == workload && $0.quantity == quantity }
  }
}

// MARK: - Text

extension CostTable {
  struct ParseError: Error, CustomStringConvertible {
    let line: Int
    let text: Substring

    var description: String {
      "line \(line): expected 'workload unit quantity value', found '\(text)'"
    }
  }

  private static let toolchainMark = "# toolchain: "

  /// Parses the text that `text` returns.
  init(parsing text: String) throws(ParseError) {
    (toolchain, costs) = ("", [])
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      if line.hasPrefix(Self.toolchainMark) {
        toolchain = String(line.dropFirst(Self.toolchainMark.count))
      }
      if line.isEmpty || line.hasPrefix("#") { continue }
      let fields = line.split(separator: " ").map(String.init)
      guard fields.count == 4, let quantity = Quantity(rawValue: fields[2]),
        let value = Double(fields[3]), value.isFinite, value >= 0
      else { throw ParseError(line: index + 1, text: line) }
      costs.append(Cost(workload: fields[0], unit: fields[1], quantity: quantity, value: value))
    }
  }

  var text: String {
    let head = """
      # What a unit of work on Pledge's hot paths costs: user-space instructions without start-up,
      # blocks taken from the heap, bytes still in use. `Benchmarks/check-costs` compares with
      # this file, `Benchmarks/check-costs --update` rewrites it.
      \(Self.toolchainMark)\(toolchain)


      """
    let lines = costs.map { $0.columns + $0.quantity.format($0.value) }
    return head + lines.joined(separator: "\n") + "\n"
  }
}

extension Quantity {
  func format(_ value: Double) -> String {
    switch self {
    case .instructions, .bytes: String(format: "%8.0f", value)
    case .allocations: String(format: "%8.2f", value)
    }
  }
}

extension String {
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}

// MARK: - Comparison

/// The comparison of the current costs with the baseline.
struct CostComparison {
  struct Row {
    let now: Cost
    let baseline: Cost?
    let verdict: Verdict

    var text: String {
      var line = now.columns
      line += (baseline.map { now.quantity.format($0.value) } ?? "       –") + "  "
      line += now.quantity.format(now.value) + "  " + verdict.rawValue
      guard let before = baseline?.value, before > 0, verdict != .same else { return line }
      return line + String(format: " (%+.1f %%)", 100 * (now.value / before - 1))
    }
  }

  enum Verdict: String {
    case same = "ok"
    case better = "better"
    case worse = "WORSE"
    case new = "NOT IN THE BASELINE"
  }

  let rows: [Row]
  /// Entries of the baseline that are no longer measured.
  let stale: [Cost]

  init(of now: CostTable, with baseline: CostTable, tolerance: Double) {
    rows = now.costs.map { cost in
      guard let before = baseline[cost.workload, cost.quantity] else {
        return Row(now: cost, baseline: nil, verdict: .new)
      }
      let verdict: Verdict =
        if cost.value > before.limit(tolerance: tolerance) {
          .worse
        } else if before.value > cost.limit(tolerance: tolerance) {
          .better
        } else {
          .same
        }
      return Row(now: cost, baseline: before, verdict: verdict)
    }
    stale = baseline.costs.filter { now[$0.workload, $0.quantity] == nil }
  }

  /// Whether all costs are within the limits of the baseline, which has exactly the same entries.
  var passes: Bool {
    stale.isEmpty && rows.allSatisfy { $0.verdict == .same || $0.verdict == .better }
  }

  var text: String {
    var text = "workload".padded(to: 20) + "per".padded(to: 10) + "quantity".padded(to: 14)
    text += "baseline       now\n"
    for row in rows { text += row.text + "\n" }
    for cost in stale { text += "\(cost.label): in the baseline, but measured no more\n" }
    return text
  }
}
