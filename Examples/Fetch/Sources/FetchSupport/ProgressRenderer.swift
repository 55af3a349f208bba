/// Renders the progress of a batch of downloads: a bar on a terminal, plain lines elsewhere.
///
/// Its methods return the text to write, and read the time from the progress that is passed to
/// them.
///
/// ```
/// [=========>              ]  41%  12/30 files  1.3 GB of 2.9 GB  99.1 MB/s  18.0 s left
/// ```
public struct ProgressRenderer: Sendable {
  /// Returns the columns of the terminal, which are read for each drawing, because terminals are
  /// resized; nil for a file, a pipe, or a log, where complete lines are written at intervals.
  private let columns: (@Sendable () -> Int)?

  /// The minimum time between two updates.
  private let interval: Duration

  private var lastUpdate: Duration?

  /// Moves the cursor to the start of the bar and clears it.
  ///
  /// The cursor is always there, so that it stays there in a terminal that breaks the line again
  /// when it is resized.
  private static let clear = "\r\u{1B}[J"

  /// Creates a renderer.
  ///
  /// - Parameter columns: Returns the columns of the terminal on which the bar is redrawn in place;
  ///   nil for other kinds of output.
  public init(columns: (@Sendable () -> Int)?) {
    self.columns = columns
    interval = columns == nil ? .seconds(5) : .milliseconds(100)
  }

  /// Whether an update is due at `elapsed`.
  ///
  /// The first update of a bar is due immediately, the first line only after the interval.
  public func isDue(_ elapsed: Duration) -> Bool {
    elapsed >= lastUpdate.map { $0 + interval } ?? (columns == nil ? interval : .zero)
  }

  /// Returns the text to write for `progress`, or nil if no update is due.
  public mutating func update(_ progress: TransferProgress) -> String? {
    isDue(progress.elapsed) ? draw(progress) : nil
  }

  /// Returns the text to write so that `line`, which has no trailing line break, is above the progress.
  public mutating func announce(_ line: String, _ progress: TransferProgress) -> String {
    columns == nil ? line + "\n" : Self.clear + line + "\n" + draw(progress)
  }

  /// Returns the text to write after the last update; it ends with a line break.
  public mutating func finish(_ progress: TransferProgress) -> String {
    var last = progress
    // The average, because the speed of the last seconds isn't representative.
    last.speed = nil
    return draw(last) + (columns == nil ? "" : "\n")
  }

  private mutating func draw(_ progress: TransferProgress) -> String {
    lastUpdate = progress.elapsed
    guard let width = columns?() else { return Self.line(progress) + "\n" }
    return Self.clear + Self.bar(progress, width: width) + "\r"
  }
}

extension ProgressRenderer {
  /// Returns the bar and the totals of all files, in less than `width` columns.
  ///
  /// The last column stays empty, so that the terminal never wraps the line. If there is little
  /// room, the least important parts are omitted.
  static func bar(_ progress: TransferProgress, width: Int) -> String {
    let room = max(0, width - 1)
    var text = ""
    for part in parts(of: progress) {
      let longer = text.isEmpty ? part : text + "  " + part
      guard longer.count < room - shortestBar else { break }
      text = longer
    }
    if text.isEmpty { return String(percentage(progress.fraction).prefix(room)) }
    let length = min(40, room - text.count - 1) - 2
    return gauge(progress.fraction, length: length) + " " + text
  }

  /// Returns the progress as one line of a log, without a line break.
  static func line(_ progress: TransferProgress) -> String {
    parts(of: progress).joined(separator: "  ")
  }

  private static let shortestBar = 12

  private static func gauge(_ fraction: Double, length: Int) -> String {
    let filled = Int((fraction * Double(length)).rounded(.down))
    if filled >= length { return "[" + String(repeating: "=", count: length) + "]" }
    let rest = String(repeating: " ", count: length - filled - 1)
    return "[" + String(repeating: "=", count: filled) + ">" + rest + "]"
  }

  private static func percentage(_ fraction: Double) -> String {
    let digits = "\(Int(fraction * 100))%"
    return String(repeating: " ", count: 4 - digits.count) + digits
  }

  private static func parts(of progress: TransferProgress) -> [String] {
    var parts = [
      percentage(progress.fraction), "\(progress.filesDone)/\(progress.filesTotal) files",
    ]
    if progress.filesFailed > 0 { parts.append("\(progress.filesFailed) failed") }
    let done = HumanReadable.bytes(progress.bytesDone)
    parts.append(progress.bytesTotal.map { "\(done) of \(HumanReadable.bytes($0))" } ?? done)
    if let speed = progress.speed ?? progress.averageSpeed {
      parts.append(HumanReadable.bytes(speed) + "/s")
    }
    if let remaining = progress.remaining, remaining > .zero {
      parts.append("\(HumanReadable.duration(remaining)) left")
    }
    return parts
  }
}
