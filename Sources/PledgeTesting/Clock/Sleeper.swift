import Pledge

/// One call of `TestClock.sleep`, or one timer of a promise.
///
/// `@unchecked Sendable`: the variables are guarded by the clock's mutex.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class Sleeper: HeapElement, @unchecked Sendable {
  typealias End = @Sendable (_ isDue: Bool) -> Void

  let deadline: TestClock.Instant
  /// The closure to call, once, when the deadline passes, or when the sleep is cancelled.
  var end: End?
  var isCancelled = false
  /// Its sequence number among the clock's sleepers.
  var order = 0
  var place = -1

  init(deadline: TestClock.Instant) { self.deadline = deadline }

  func precedes(_ other: Sleeper) -> Bool {
    deadline == other.deadline ? order < other.order : deadline < other.deadline
  }
}
