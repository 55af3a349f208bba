/// Counts down to zero, from several threads.
final class Countdown: Sendable {
  private let count: Atomic<Int>

  init(_ count: Int) { self.count = Atomic(count) }

  /// Counts one down; true for the call that reaches zero.
  func reachesZero() -> Bool {
    count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }
}
