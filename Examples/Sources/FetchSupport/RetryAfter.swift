import Foundation

/// The `Retry-After` header of an HTTP response.
public enum RetryAfter {
  /// Returns how long a server asks to wait before the next try.
  ///
  /// - Parameters:
  ///   - value: The header's value: a number of seconds, or a date as in
  ///     `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///   - now: The present time, for a date.
  /// - Returns: The delay, zero for a date that has passed, nil for a value
  ///   that makes no sense.
  public static func delay(_ value: String, now: Date = Date()) -> Duration? {
    let value = value.trimmingCharacters(in: .whitespaces)
    if !value.isEmpty, value.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
      return Int32(value).map { .seconds($0) }
    }
    return date(value).map { .seconds(max(0, $0.timeIntervalSince(now))) }
  }

  private static func date(_ value: String) -> Date? {
    let words = value.split(whereSeparator: { $0 == " " || $0 == "," || $0 == ":" })
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    guard words.count == 8, words[7] == "GMT",
      let day = Int(words[1]), let month = months.firstIndex(of: String(words[2])),
      let year = Int(words[3]), let hour = Int(words[4]), let minute = Int(words[5]),
      let second = Int(words[6])
    else { return nil }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let components = DateComponents(
      calendar: calendar, timeZone: .gmt, year: year, month: month + 1, day: day, hour: hour,
      minute: minute, second: second)
    return components.isValidDate ? calendar.date(from: components) : nil
  }
}
