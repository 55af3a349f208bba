/// Draws the progress of a batch of downloads: a bar on a terminal, plain lines
/// elsewhere.
///
/// It writes nothing itself: its methods return the text to write, and read the
/// time from the progress they are given.
///
/// ```
/// [=========>              ]  41%  12/30 files  120.3 MB of 293.0 MB  9.9 MB/s  18.0 s left
/// ```
public struct ProgressRenderer: Sendable {
  /// What the progress is drawn on.
  public enum Style: Sendable, Equatable {
    /// A terminal with this many columns: one line, drawn over and over.
    case bar(width: Int)
    /// A file, a pipe or a log: whole lines, now and then.
    case lines
  }

  /// What the progress is drawn on; set it anew when a terminal is resized.
  public var style: Style

  /// The least time from one update to the next.
  public var interval: Duration

  private var lastUpdate: Duration?

  /// Creates a renderer.
  ///
  /// - Parameters:
  ///   - style: What the progress is drawn on.
  ///   - interval: The least time from one update to the next; by default a
  ///     tenth of a second for a bar and five seconds for lines.
  public init(style: Style, interval: Duration? = nil) {
    self.style = style
    self.interval = interval ?? (style == .lines ? .seconds(5) : .milliseconds(100))
  }

  /// Returns what to write now that the progress is `progress`.
  ///
  /// The first update of a bar is drawn at once, the first one in lines only
  /// after the interval.
  ///
  /// - Parameter progress: The present reading.
  /// - Returns: Text to write, or nil if it is too early for the next update.
  public mutating func update(_ progress: TransferProgress) -> String? {
    let earliest = lastUpdate.map { $0 + interval } ?? (style == .lines ? interval : .zero)
    guard progress.elapsed >= earliest else { return nil }
    return draw(progress)
  }

  /// Returns what to write so that `line` stands above the progress.
  ///
  /// - Parameters:
  ///   - line: One or more lines of text, without the last line break.
  ///   - progress: The present reading, to draw the bar again.
  /// - Returns: Text to write.
  public mutating func announce(_ line: String, _ progress: TransferProgress) -> String {
    switch style {
    case .bar: Self.startOfLine + Self.restOfLine + line + "\n" + draw(progress)
    case .lines: line + "\n"
    }
  }

  /// Returns what to write when there will be no further update.
  ///
  /// - Parameter progress: The last reading.
  /// - Returns: Text to write, which ends in a line break.
  public mutating func finish(_ progress: TransferProgress) -> String {
    switch style {
    case .bar: draw(progress) + "\n"
    case .lines: draw(progress)
    }
  }

  private mutating func draw(_ progress: TransferProgress) -> String {
    lastUpdate = progress.elapsed
    switch style {
    case .bar(let width):
      return Self.startOfLine + Self.bar(progress, width: width) + Self.restOfLine
    case .lines:
      return Self.line(progress) + "\n"
    }
  }

  private static let startOfLine = "\r"
  private static let restOfLine = "\u{1B}[K"
}

// MARK: - Text

extension ProgressRenderer {
  /// Returns the bar and what it stands for, in less than `width` columns.
  ///
  /// The last column stays free, so that the terminal never starts a new line.
  /// Where there is little room, the least important parts are left out.
  ///
  /// - Parameters:
  ///   - progress: The reading.
  ///   - width: The columns of the terminal.
  /// - Returns: One line of text, without control characters.
  public static func bar(_ progress: TransferProgress, width: Int) -> String {
    let room = max(0, width - 1)
    let shortestBar = 12
    var text = ""
    for part in parts(of: progress) {
      let longer = text.isEmpty ? part : text + "  " + part
      guard TextWidth.columns(of: longer) + shortestBar + 1 <= room else { break }
      text = longer
    }
    if text.isEmpty { return TextWidth.prefix(of: percentage(progress), within: room) }
    let length = min(40, room - TextWidth.columns(of: text) - 1) - 2
    return gauge(progress.fraction, length: length) + " " + text
  }

  /// Returns the progress as one line of a log.
  ///
  /// - Parameter progress: The reading.
  /// - Returns: One line of text, without its line break.
  public static func line(_ progress: TransferProgress) -> String {
    parts(of: progress).joined(separator: "  ")
  }

  private static func gauge(_ fraction: Double, length: Int) -> String {
    let filled = Int((fraction * Double(length)).rounded(.down))
    if filled >= length { return "[" + String(repeating: "=", count: length) + "]" }
    let rest = String(repeating: " ", count: length - filled - 1)
    return "[" + String(repeating: "=", count: filled) + ">" + rest + "]"
  }

  private static func percentage(_ progress: TransferProgress) -> String {
    TextWidth.padded("\(Int(progress.fraction * 100))%", to: 4, alignRight: true)
  }

  private static func parts(of progress: TransferProgress) -> [String] {
    var parts = [percentage(progress), "\(progress.filesDone)/\(progress.filesTotal) files"]
    if progress.filesFailed > 0 { parts.append("\(progress.filesFailed) failed") }
    let done = HumanReadable.bytes(progress.bytesDone)
    parts.append(progress.bytesTotal.map { "\(done) of \(HumanReadable.bytes($0))" } ?? done)
    if let speed = HumanReadable.speed(progress.bytesDone, in: progress.elapsed) {
      parts.append(speed)
    }
    if let remaining = progress.remaining, remaining > .zero {
      parts.append("\(HumanReadable.duration(remaining)) left")
    }
    return parts
  }
}
