import Foundation

/// Waits for other threads, with a time limit.
enum Patience {
  /// The time after which an operation counts as hung, in seconds.
  static let seconds = 120.0

  /// Waits until `isDone` returns true, and stops the program with a message after the time limit.
  static func wait(for what: String, until isDone: () -> Bool) {
    if !isDoneInTime(isDone) { end(what) }
  }

  static func end(_ what: String) -> Never { fatalError("Hung: waited \(seconds) s for \(what).") }

  /// Waits until `isDone` returns true, for at most `limit` seconds; returns whether it did.
  static func isDoneInTime(limit: Double = seconds, _ isDone: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: limit)
    var rounds = 0
    while !isDone() {
      rounds += 1
      if rounds < 100 { sched_yield() } else { usleep(100) }
      if rounds % 100 == 0, Date() > end { return false }
    }
    return true
  }
}
