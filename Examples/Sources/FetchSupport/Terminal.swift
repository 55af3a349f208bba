import Foundation

/// What the output is connected to.
public enum Terminal {
  /// Returns whether a line can be drawn over on `descriptor`.
  ///
  /// - Parameters:
  ///   - descriptor: The file descriptor, standard error by default.
  ///   - environment: The environment, in which `TERM=dumb` says no.
  /// - Returns: Whether it is a terminal, and one that moves its cursor.
  public static func canRedraw(
    _ descriptor: Int32 = STDERR_FILENO,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    isatty(descriptor) == 1 && environment["TERM"] != "dumb"
  }

  /// Returns how many columns the terminal on `descriptor` has.
  ///
  /// - Parameter descriptor: The file descriptor, standard error by default.
  /// - Returns: The number of columns, or nil if it is unknown.
  public static func width(_ descriptor: Int32 = STDERR_FILENO) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }
}
