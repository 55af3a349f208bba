import Dispatch
import Foundation

/// Waiting for other threads, with an end to it.
enum Patience {
  /// How long anything may take before it counts as hung.
  static let seconds = 120.0

  /// Waits until `isDone`, and stops the program with a message if that never comes.
  static func wait(for what: String, until isDone: () -> Bool) {
    if !isDoneInTime(isDone) { fatalError("Hung: waited \(seconds) s for \(what).") }
  }

  /// Waits for `semaphore`, and stops the program with a message if it is never signalled.
  static func wait(for what: String, _ semaphore: DispatchSemaphore) {
    if semaphore.wait(timeout: .now() + seconds) == .timedOut {
      fatalError("Hung: waited \(seconds) s for \(what).")
    }
  }

  /// Waits until `isDone`, for `limit` seconds at the most.
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
