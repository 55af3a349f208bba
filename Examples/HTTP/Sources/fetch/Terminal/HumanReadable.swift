import Foundation

enum HumanReadable {
  /// Returns a number of bytes, 0 or more, in decimal units, as in `1.2 MB`.
  static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return "\(count) B" }
    var tenths = Double(count) / 100
    for unit in ["kB", "MB", "GB", "TB", "PB"] {
      if tenths.rounded() < 10_000 { return "\(tenths.rounded() / 10) \(unit)" }
      tenths /= 1000
    }
    return "\(tenths.rounded() / 10) EB"
  }

  /// Returns a duration, as in `340 ms`, `2.4 s`, `3 min 07 s`, or `1 h 02 min`.
  static func duration(_ duration: Duration) -> String {
    let milliseconds = Int(max(duration, .zero) / .milliseconds(1))
    if milliseconds < 1000 { return "\(milliseconds) ms" }
    let tenths = (milliseconds + 50) / 100
    if tenths < 600 { return "\(tenths / 10).\(tenths % 10) s" }
    let seconds = (milliseconds + 500) / 1000
    if seconds < 3600 { return String(format: "%d min %02d s", seconds / 60, seconds % 60) }
    return String(format: "%d h %02d min", seconds / 3600, seconds / 60 % 60)
  }
}
