/// Renders the progress of a batch of downloads: bars on a terminal, plain lines elsewhere.
///
/// Its methods return the text to write, and read the time from the progress that is passed to
/// them.
///
/// ```
/// ubuntu.iso       [=======>        ]  45%  1.2 GB of 2.6 GB  88.0 MB/s  16.0 s left
/// [=========>              ]  41%  12/30 files  1.3 GB of 2.9 GB  99.1 MB/s  18.0 s left
/// ```
public struct ProgressRenderer: Sendable {
  /// Returns the size of the terminal, which is read for each drawing, because terminals are
  /// resized; nil for a file, a pipe, or a log, where complete lines are written at intervals.
  private let terminal: (@Sendable () -> Terminal.Size)?

  /// The minimum time between two updates.
  private let interval: Duration

  /// The maximum number of files with a separate line.
  private let rowLimit = 8

  private var lastUpdate: Duration?
  /// The widths, in columns, of the lines that are on the terminal.
  ///
  /// The cursor is at the start of the last one, so that it stays there in a terminal that breaks
  /// the lines again when it is resized.
  private var drawn: [Int] = []

  /// Creates a renderer.
  ///
  /// - Parameter terminal: Returns the size of the terminal whose lines are redrawn in place; nil
  ///   for other kinds of output.
  public init(terminal: (@Sendable () -> Terminal.Size)?) {
    self.terminal = terminal
    interval = terminal == nil ? .seconds(5) : .milliseconds(100)
  }

  /// Whether an update is due at `elapsed`.
  ///
  /// The first update of a bar is due immediately, the first line only after the interval.
  public func isDue(_ elapsed: Duration) -> Bool {
    elapsed >= lastUpdate.map { $0 + interval } ?? (terminal == nil ? interval : .zero)
  }

  /// Returns the text to write for `progress`, or nil if no update is due.
  public mutating func update(_ progress: TransferProgress) -> String? {
    isDue(progress.elapsed) ? draw(progress) : nil
  }

  /// Returns the text to write so that `line`, which has no trailing line break, is above the progress.
  public mutating func announce(_ line: String, _ progress: TransferProgress) -> String {
    guard let size = terminal?() else { return line + "\n" }
    return clear(size) + line + "\n" + draw(progress)
  }

  /// Returns the text to write after the last update; it ends with a line break.
  public mutating func finish(_ progress: TransferProgress) -> String {
    var last = progress
    last.rows = []
    // The average, because the speed of the last seconds isn't representative.
    last.speed = nil
    guard terminal != nil else { return draw(last) }
    defer { drawn = [] }
    return draw(last) + "\n"
  }

  private mutating func draw(_ progress: TransferProgress) -> String {
    lastUpdate = progress.elapsed
    guard let size = terminal?() else { return Self.line(progress) + "\n" }
    // A line above the screen could not be redrawn.
    let shown = progress.rows.prefix(min(rowLimit, size.rows - 1))
    let lines =
      shown.map { Self.row($0, width: size.columns) } + [Self.bar(progress, width: size.columns)]
    let text = clear(size) + lines.joined(separator: "\n") + "\r"
    drawn = lines.map(TextWidth.columns)
    return text
  }

  /// Returns the text that moves the cursor to the start of the first line and clears everything
  /// after it.
  private mutating func clear(_ size: Terminal.Size) -> String {
    // In a terminal that has become narrower, each old line can occupy several rows.
    let rows = drawn.dropLast().reduce(0) { $0 + max(1, ($1 + size.columns - 1) / size.columns) }
    drawn = []
    return "\r" + (rows > 0 ? "\u{1B}[\(rows)A" : "") + "\u{1B}[J"
  }
}

extension ProgressRenderer {
  /// Returns the bar and the totals of all files, in less than `width` columns.
  ///
  /// The last column stays empty, so that the terminal never wraps the line. If there is little
  /// room, the least important parts are omitted.
  static func bar(_ progress: TransferProgress, width: Int) -> String {
    let room = max(0, width - 1)
    let text = fitting(parts(of: progress), room - shortestBar - 1)
    if text.isEmpty { return TextWidth.prefix(of: percentage(progress.fraction), within: room) }
    let length = min(40, room - TextWidth.columns(of: text) - 1) - 2
    return gauge(progress.fraction, length: length) + " " + text
  }

  /// Returns the line for one file, in less than `width` columns.
  static func row(_ row: TransferProgress.Row, width: Int) -> String {
    let room = max(0, width - 1)
    let nameRoom = min(24, room / 3)
    let name = TextWidth.padded(TextWidth.shortened(row.name, to: nameRoom), to: nameRoom)
    if let note = row.note {
      return TextWidth.shortened("\(name) \(note)", to: room, keepEnd: false)
    }
    let bytes = HumanReadable.bytes(row.received)
    let connections = row.connections > 1 ? ["\(row.connections) connections"] : []
    let speed = row.speed > 0 ? [HumanReadable.bytes(row.speed) + "/s"] : []
    guard let size = row.size, size > 0 else {
      let text = fitting([bytes] + speed + connections, room - nameRoom - 1)
      return TextWidth.prefix(of: "\(name) \(text)", within: room)
    }
    let fraction = min(1, Double(row.received) / Double(size))
    let left =
      row.speed > 0 ? Duration.seconds(Double(size - row.received) / Double(row.speed)) : nil
    let parts =
      [percentage(fraction), "\(bytes) of \(HumanReadable.bytes(size))"] + speed
      + (left.map { ["\(HumanReadable.duration($0)) left"] } ?? []) + connections
    let text = fitting(parts, room - nameRoom - shortestBar - 2)
    guard !text.isEmpty else {
      return TextWidth.prefix(of: "\(name) \(percentage(fraction))", within: room)
    }
    let length = min(24, room - nameRoom - TextWidth.columns(of: text) - 2) - 2
    return "\(name) \(gauge(fraction, length: length)) \(text)"
  }

  /// Returns the progress as one line of a log, without a line break.
  static func line(_ progress: TransferProgress) -> String {
    parts(of: progress).joined(separator: "  ")
  }

  private static let shortestBar = 12

  /// Returns the first of `parts` that fit in `room` columns.
  private static func fitting(_ parts: [String], _ room: Int) -> String {
    var text = ""
    for part in parts {
      let longer = text.isEmpty ? part : text + "  " + part
      guard TextWidth.columns(of: longer) <= room else { break }
      text = longer
    }
    return text
  }

  private static func gauge(_ fraction: Double, length: Int) -> String {
    let filled = Int((fraction * Double(length)).rounded(.down))
    if filled >= length { return "[" + String(repeating: "=", count: length) + "]" }
    let rest = String(repeating: " ", count: length - filled - 1)
    return "[" + String(repeating: "=", count: filled) + ">" + rest + "]"
  }

  private static func percentage(_ fraction: Double) -> String {
    TextWidth.padded("\(Int(fraction * 100))%", to: 4, alignRight: true)
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
