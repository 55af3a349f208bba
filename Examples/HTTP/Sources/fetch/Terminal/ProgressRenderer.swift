import Foundation

/// Renders the progress of a batch of downloads: a bar on a terminal, plain lines elsewhere.
///
/// Its methods return the text to write, and read the time from the progress that is passed to
/// them.
///
/// ```
/// [=========>              ]  41%  12/30 files  1.3 GB of 2.9 GB  99.1 MB/s  18.0 s left
/// ```
struct ProgressRenderer: Sendable {
  /// Returns the columns of the terminal, which are read for each drawing, because terminals are
  /// resized; nil for a file, a pipe, or a log, where complete lines are written at intervals.
  private let columns: (@Sendable () -> Int)?
  private let interval: Duration
  private var lastUpdate: Duration?

  /// Moves the cursor to the start of the bar and clears it.
  ///
  /// The cursor is always there, so that it stays there in a terminal that breaks the line again
  /// when it is resized.
  private static let clear = "\r\u{1B}[J"

  init(columns: (@Sendable () -> Int)?) {
    self.columns = columns
    interval = columns == nil ? .seconds(5) : .milliseconds(100)
  }

  /// Whether an update is due at `elapsed`.
  ///
  /// The first update of a bar is due immediately, the first line only after the interval.
  func isDue(_ elapsed: Duration) -> Bool {
    elapsed >= lastUpdate.map { $0 + interval } ?? (columns == nil ? interval : .zero)
  }

  /// Returns the text to write for `progress`, or nil if no update is due.
  mutating func update(_ progress: TransferProgress) -> String? {
    isDue(progress.elapsed) ? draw(progress) : nil
  }

  /// Returns the text to write so that `line`, which has no trailing line break, is above the
  /// progress.
  mutating func announce(_ line: String, _ progress: TransferProgress) -> String {
    columns == nil ? line + "\n" : Self.clear + line + "\n" + draw(progress)
  }

  /// Returns the text to write after the last update; it ends with a line break.
  mutating func finish(_ progress: TransferProgress) -> String {
    var last = progress
    // The average, because the speed of the last seconds isn't representative.
    last.speed = nil
    return draw(last) + (columns == nil ? "" : "\n")
  }

  private mutating func draw(_ progress: TransferProgress) -> String {
    lastUpdate = progress.elapsed
    guard let width = columns?() else { return progress.line + "\n" }
    return Self.clear + progress.bar(width: width) + "\r"
  }
}

enum Terminal {
  /// Returns whether `descriptor` is a terminal on which a line can be redrawn; `TERM=dumb` means
  /// that the cursor can't move.
  static func canRedraw(
    _ descriptor: Int32 = STDERR_FILENO,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool { isatty(descriptor) == 1 && environment["TERM"] != "dumb" }

  /// Returns the columns of the terminal on `descriptor`; 80 where they are unknown.
  static func columns(_ descriptor: Int32 = STDERR_FILENO) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}
