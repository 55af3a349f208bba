/// Formats quantities for people.
public enum HumanReadable {
  /// Returns a number of bytes, 0 or more, in decimal units, as in `1.2 MB`.
  public static func bytes(_ count: Int) -> String {
    guard count.magnitude >= 1000 else { return "\(count) B" }
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    var divisor: UInt = 100
    for unit in units {
      let tenths = (count.magnitude + divisor / 2) / divisor
      if tenths < 10_000 || unit == units.last { return decimal(tenths) + " " + unit }
      divisor *= 1000
    }
    return "\(count) B"
  }

  /// Returns a duration, as in `340 ms`, `2.4 s`, `3 min 07 s`, or `1 h 02 min`.
  public static func duration(_ duration: Duration) -> String {
    let (seconds, attoseconds) = max(duration, .zero).components
    let milliseconds = attoseconds / 1_000_000_000_000_000
    if seconds == 0 { return "\(milliseconds) ms" }
    if seconds < 60 {
      let tenths = UInt(seconds * 10 + (milliseconds + 50) / 100)
      if tenths < 600 { return decimal(tenths) + " s" }
    }
    let rounded = seconds + (milliseconds >= 500 ? 1 : 0)
    let (minutes, rest) = rounded.quotientAndRemainder(dividingBy: 60)
    if minutes < 60 { return "\(minutes) min \(twoDigits(rest)) s" }
    return "\(minutes / 60) h \(twoDigits(minutes % 60)) min"
  }

  private static func decimal(_ tenths: UInt) -> String {
    "\(tenths / 10).\(tenths % 10)"
  }

  private static func twoDigits(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
