import Foundation

/// Properties of the terminal.
public enum Terminal {
  /// The number of columns and rows; at least 1.
  public struct Size: Sendable, Equatable {
    var columns = 80
    var rows = 24
  }

  /// Returns whether `descriptor` is a terminal on which lines can be redrawn; `TERM=dumb` means that
  /// the cursor can't move.
  public static func canRedraw(
    _ descriptor: Int32 = STDERR_FILENO,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    isatty(descriptor) == 1 && environment["TERM"] != "dumb"
  }

  /// Returns the size of the terminal on `descriptor`; 80 columns and 24 rows where it is unknown.
  public static func size(_ descriptor: Int32 = STDERR_FILENO) -> Size {
    var (known, size) = (winsize(), Size())
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &known) == 0 else { return size }
    if known.ws_col > 0 { size.columns = Int(known.ws_col) }
    if known.ws_row > 0 { size.rows = Int(known.ws_row) }
    return size
  }
}
