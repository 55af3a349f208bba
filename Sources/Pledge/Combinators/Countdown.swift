/// A counter that several threads decrement to zero.
final class Countdown: Sendable {
  private let count: Atomic<Int>

  init(_ count: Int) { self.count = Atomic(count) }

  /// Decrements the count; returns true for the call that reaches zero.
  func reachesZero() -> Bool {
    count.wrappingSubtract(1, ordering: .acquiringAndReleasing) == 1
  }
}
