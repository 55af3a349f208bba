/// The row for one file in a summary.
public struct SummaryRow: Sendable, Equatable {
  /// The outcome of a download.
  public enum Status: Sendable, Equatable {
    /// The file is complete.
    case done
    /// The download failed for this reason.
    case failed(String)
  }

  /// The name of the file.
  public var name: String

  /// The size of the file in bytes, if it is known.
  public var size: Int?

  /// The duration of the download.
  public var time: Duration

  /// The number of requests, or of attempts if the download failed.
  public var tries: Int

  /// The mirror that sent the file, if any.
  public var mirror: String?

  /// The outcome of the download.
  public var status: Status

  /// Creates a row.
  ///
  /// - Parameters:
  ///   - name: The name of the file.
  ///   - size: The size of the file in bytes, if it is known.
  ///   - time: The duration of the download.
  ///   - tries: The number of requests, or of attempts if the download failed.
  ///   - mirror: The mirror that sent the file, if any.
  ///   - status: The outcome of the download.
  public init(
    name: String, size: Int?, time: Duration, tries: Int, mirror: String?, status: Status
  ) {
    self.name = name
    self.size = size
    self.time = time
    self.tries = tries
    self.mirror = mirror
    self.status = status
  }
}

/// Renders a table with the result of each download, and totals.
public enum SummaryTable {
  /// Returns the table as text.
  ///
  /// - Parameters:
  ///   - rows: The downloads.
  ///   - elapsed: The duration of the whole batch.
  ///   - width: The width in columns, to which long names and reasons are shortened as far as
  ///     possible; nil for no limit.
  ///   - hasTotals: Whether the last row contains the totals.
  /// - Returns: Lines with aligned columns: a header, the rows, and the totals.
  public static func render(
    _ rows: [SummaryRow], elapsed: Duration, width: Int? = nil, hasTotals: Bool = true
  ) -> String {
    let header = ["File", "Size", "Time", "Tries", "Mirror", "Status"]
    var lines = [header] + rows.map(cells) + [totals(of: rows, elapsed: elapsed)]
    if let width { fit(&lines, in: width) }
    let widths = columnWidths(of: lines)
    let rule = widths.map { String(repeating: "-", count: $0) }
    lines.insert(rule, at: 1)
    if hasTotals { lines.insert(rule, at: lines.count - 1) } else { lines.removeLast() }
    return lines.map { line(of: $0, widths: widths) + "\n" }.joined()
  }

  private static let nameColumn = 0
  private static let statusColumn = 5
  private static let rightAligned: Set = [1, 2, 3]
  private static let gap = "  "

  private static func cells(of row: SummaryRow) -> [String] {
    let status =
      switch row.status {
      case .done: "done"
      case .failed(let reason): "failed: \(singleLine(reason))"
      }
    return [
      singleLine(row.name), row.size.map(HumanReadable.bytes) ?? "-",
      HumanReadable.duration(row.time), "\(row.tries)", row.mirror.map(singleLine) ?? "-", status,
    ]
  }

  private static func totals(of rows: [SummaryRow], elapsed: Duration) -> [String] {
    let done = rows.filter { $0.status == .done }
    let failures = rows.count - done.count
    return [
      "\(done.count) of \(rows.count) files",
      HumanReadable.bytes(done.reduce(0) { $0 + ($1.size ?? 0) }),
      HumanReadable.duration(elapsed),
      "\(rows.reduce(0) { $0 + $1.tries })",
      "",
      failures == 0 ? "all done" : "\(failures) failed",
    ]
  }

  private static func fit(_ lines: inout [[String]], in width: Int) {
    for (column, least) in [(nameColumn, 16), (statusColumn, 20), (nameColumn, 8)] {
      let widths = columnWidths(of: lines)
      let excess = widths.reduce(0, +) + gap.count * (widths.count - 1) - width
      guard excess > 0 else { return }
      let totals = TextWidth.columns(of: lines[lines.count - 1][column])
      let room = max(least, totals, widths[column] - excess)
      for index in lines.indices {
        lines[index][column] = TextWidth.shortened(
          lines[index][column], to: room, keepEnd: column == nameColumn)
      }
    }
  }

  private static func columnWidths(of lines: [[String]]) -> [Int] {
    lines.reduce(into: [0, 0, 0, 0, 0, 0]) { widths, cells in
      for (column, cell) in cells.enumerated() {
        widths[column] = max(widths[column], TextWidth.columns(of: cell))
      }
    }
  }

  private static func line(of cells: [String], widths: [Int]) -> String {
    let padded = zip(cells, widths).enumerated().map { column, cell in
      TextWidth.padded(cell.0, to: cell.1, alignRight: rightAligned.contains(column))
    }
    var line = padded.joined(separator: gap)
    while line.last == " " { line.removeLast() }
    return line
  }

  private static func singleLine(_ text: String) -> String {
    String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
  }
}
