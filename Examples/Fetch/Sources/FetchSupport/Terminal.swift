import Foundation

/// Properties of the terminal.
public enum Terminal {
  /// Returns whether `descriptor` is a terminal on which lines can be redrawn; `TERM=dumb` means that
  /// the cursor can't move.
  public static func canRedraw(
    _ descriptor: Int32 = STDERR_FILENO,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    isatty(descriptor) == 1 && environment["TERM"] != "dumb"
  }

  /// Returns the width of the terminal on `descriptor`, in columns; nil if it is unknown.
  public static func width(_ descriptor: Int32 = STDERR_FILENO) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }
}
