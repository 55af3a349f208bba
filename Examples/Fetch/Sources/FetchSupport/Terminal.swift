import Foundation

/// Properties of the terminal.
public enum Terminal {
  /// Returns whether `descriptor` is a terminal on which a line can be redrawn; `TERM=dumb` means
  /// that the cursor can't move.
  public static func canRedraw(
    _ descriptor: Int32 = STDERR_FILENO,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    isatty(descriptor) == 1 && environment["TERM"] != "dumb"
  }

  /// Returns the columns of the terminal on `descriptor`; 80 where they are unknown.
  public static func columns(_ descriptor: Int32 = STDERR_FILENO) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}
