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
    results.first {
      $0.workload.name == workload.name && $0.library == library && $0.size == size
    }
  }
}

/// Returns the value with three significant digits and no exponent.
func short(_ value: Double) -> String {
  switch abs(value) {
  case 100.0...: return String(Int(value.rounded()))
  case 10.0...: return trimmed(String(format: "%.1f", value))
  default: return trimmed(String(format: "%.2f", value))
  }
}

private func trimmed(_ number: String) -> String {
  var number = number
  while number.contains("."), let last = number.last, last == "0" || last == "." {
    number.removeLast()
    if last == "." { break }
  }
  return number
}

/// Returns a human-readable count of bytes.
func bytes(_ value: Double) -> String {
  switch value {
  case Double(1 << 30)...: short(value / Double(1 << 30)) + " GiB"
  case Double(1 << 20)...: short(value / Double(1 << 20)) + " MiB"
  case Double(1 << 10)...: short(value / Double(1 << 10)) + " KiB"
  default: short(value) + " B"
  }
}

/// Returns a size with thousands separators.
func grouped(_ value: Int) -> String {
  var digits = String(value)
  var groups: [String] = []
  while digits.count > 3 {
    groups.insert(String(digits.suffix(3)), at: 0)
    digits.removeLast(3)
  }
  return ([digits] + groups).joined(separator: ",")
}
