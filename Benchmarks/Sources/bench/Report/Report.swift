import Foundation

/// The results of one run, by workload, library, and size.
struct Report {
  let results: [CellResult]
  let cells: [Registry.Cell]
  let idlePeak: Int

  /// The libraries that have results, in the order of the columns.
  var libraries: [String] {
    var seen: Set<String> = []
    return cells.map(\.library).filter { seen.insert($0).inserted }
  }

  func sizes(of workload: Workload) -> [Int] {
    Set(results.filter { $0.workload.name == workload.name }.map(\.size)).sorted()
  }

  func cell(_ workload: Workload, _ library: String) -> Registry.Cell? {
    cells.first { $0.workload.name == workload.name && $0.library == library }
  }

  func result(_ workload: Workload, _ library: String, _ size: Int) -> CellResult? {
    results.first { $0.workload.name == workload.name && $0.library == library && $0.size == size }
  }
}

/// Returns the value with three significant digits and no exponent.
func short(_ value: Double) -> String {
  let fraction = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : 2
  return value.formatted(
    .number.precision(.fractionLength(0...fraction)).rounded(rule: .toNearestOrAwayFromZero)
      .grouping(.never).locale(english))
}

func bytes(_ value: Double) -> String {
  switch value {
  case Double(1 << 30)...: short(value / Double(1 << 30)) + " GiB"
  case Double(1 << 20)...: short(value / Double(1 << 20)) + " MiB"
  case Double(1 << 10)...: short(value / Double(1 << 10)) + " KiB"
  default: short(value) + " B"
  }
}

/// Returns a size with thousands separators.
func grouped(_ value: Int) -> String { value.formatted(.number.locale(english)) }

private let english = Locale(identifier: "en_US")
