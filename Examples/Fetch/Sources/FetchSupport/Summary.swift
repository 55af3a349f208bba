/// Renders a summary of a batch of downloads that fits on a screen.
public enum Summary {
  /// The maximum number of rows for files; if there are more files, only the failed and the slowest
  /// ones are shown.
  public static let rowLimit = 20

  /// Returns the summary as text.
  ///
  /// - Parameters:
  ///   - rows: The downloads that ended.
  ///   - fileCount: The number of downloads; nil if all of them ended.
  ///   - elapsed: The duration of the whole batch.
  ///   - width: The width in columns; nil for no limit.
  ///   - isComplete: Whether all files have a row, even if there are many.
  public static func render(
    _ rows: [SummaryRow], fileCount: Int? = nil, elapsed: Duration, width: Int? = nil,
    isComplete: Bool = false
  ) -> String {
    let totals = totals(of: rows, fileCount: fileCount, elapsed: elapsed) + "\n"
    if rows.isEmpty { return totals }
    let isShort = isComplete || rows.count <= rowLimit
    if let width, width < narrowest {
      let shown = isShort ? rows : Array(rows.filter { $0.status != .done }.prefix(rowLimit))
      let lines = shown.map { narrow($0, width) }
      return lines.joined() + totals
    }
    if isShort {
      return SummaryTable.render(rows, elapsed: elapsed, width: width, hasTotals: false) + totals
    }
    let failed = rows.filter { $0.status != .done }
    let slowest = rows.filter { $0.status == .done }.sorted { $0.time > $1.time }.prefix(3)
    var text = ""
    if !failed.isEmpty {
      text += SummaryTable.render(
        Array(failed.prefix(rowLimit)), elapsed: elapsed, width: width, hasTotals: false)
      if failed.count > rowLimit { text += "… and \(failed.count - rowLimit) more\n" }
      text += "\n"
    }
    let lines = slowest.map { row in
      "  \(HumanReadable.duration(row.time))  \(row.name)"
    }
    text += "Slowest files:\n" + lines.joined(separator: "\n") + "\n"
    return text + totals
  }

  /// The minimum width of a table, in columns.
  private static let narrowest = 72

  private static func narrow(_ row: SummaryRow, _ width: Int) -> String {
    let name = TextWidth.shortened(row.name, to: max(8, width - 1))
    switch row.status {
    case .done:
      let size = row.size.map { HumanReadable.bytes($0) + ", " } ?? ""
      return "\(name)\n  \(size)\(HumanReadable.duration(row.time))\n"
    case .failed(let reason):
      return "\(name)\n  failed: \(reason)\n"
    }
  }

  /// Returns the totals as one line.
  public static func totals(
    of rows: [SummaryRow], fileCount: Int? = nil, elapsed: Duration
  ) -> String {
    let done = rows.filter { $0.status == .done }
    let bytes = done.reduce(0) { $0 + ($1.size ?? 0) }
    let tries = rows.reduce(0) { $0 + $1.tries }
    var parts = [
      "\(done.count) of \(fileCount ?? rows.count) files", HumanReadable.bytes(bytes),
      HumanReadable.duration(elapsed),
    ]
    if let speed = HumanReadable.speed(bytes, in: elapsed) { parts.append(speed) }
    // The requests for files that haven't ended aren't counted.
    if !rows.isEmpty {
      parts.append(tries == 1 ? "1 request" : "\(tries) requests")
    }
    if done.count < rows.count { parts.append("\(rows.count - done.count) failed") }
    return parts.joined(separator: ", ")
  }
}
