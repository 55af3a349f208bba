// What integrations hear of the library's policies, so that they can count it. Monitors come from
// outside; an event costs one load of a flag while there is none.

/// An event of a policy that belongs to the whole process.
package enum PolicyEvent: Sendable {
  /// A failed attempt is followed by another one.
  case retried
  /// An operation failed for good: its policy allows no further attempt.
  case gaveUp
  /// A second or later request was started to overtake the first one.
  case hedged
  /// A timer was started.
  case timerStarted
  /// The time of a timer has come.
  case timerFired
  /// A timer was released: it has fired, or nothing needs it anymore.
  case timerEnded
  /// A rejection was not handled.
  case unhandledRejection
}

/// What happens to the operations of one limiter.
package enum LimiterEvent: Sendable {
  /// The number of waiting operations changed by so many.
  case waiting(Int)
  /// The number of running operations changed by so many.
  case running(Int)
  /// An operation was rejected, since the queue was full.
  case rejected
}

/// How a coalescer served a request, or what happened to a value.
package enum CoalescerEvent: Sendable {
  /// With work that it started.
  case started
  /// With work that was in progress.
  case joined
  /// With a cached value.
  case cached
  /// With a stale value, which is fetched anew.
  case stale
  /// A stale value could not be fetched anew.
  case refreshFailed
}

/// Is called for each event, on the thread on which it happens, never under a lock.
///
/// A closure, since a protocol with a type for its events could not be stored before macOS 13.
package typealias Monitor<Event: Sendable> = @Sendable (Event) -> Void

/// The monitors of one object, or of the process.
package struct Monitors<Event: Sendable>: ~Copyable, Sendable {
  private let isEmpty = Atomic(true)
  private let monitors = Mutex<[Monitor<Event>]>([])

  package init() {}

  /// Adds a monitor for good.
  package func add(_ monitor: @escaping Monitor<Event>) {
    monitors.withLock { $0.append(monitor) }
    isEmpty.store(false, ordering: .releasing)
  }

  /// Whether an event has no listener.
  @inline(__always)
  var areMissing: Bool { isEmpty.load(ordering: .relaxed) }

  @inline(__always)
  func note(_ event: @autoclosure () -> Event) {
    if !areMissing { tell(event()) }
  }

  @inline(never)
  private func tell(_ event: Event) {
    for monitor in monitors.withLock({ $0 }) { monitor(event) }
  }
}

package enum Monitoring {
  /// Those of the process.
  package static let policies = Monitors<PolicyEvent>()
}

/// A timer whose end is told to the monitors.
final class MonitoredTimer: Sendable {
  private let timer: AnyObject & Sendable

  init(
    _ start: (@escaping @Sendable () -> Void) -> AnyObject & Sendable,
    _ action: @escaping @Sendable () -> Void
  ) {
    Monitoring.policies.note(.timerStarted)
    timer = start {
      Monitoring.policies.note(.timerFired)
      action()
    }
  }

  deinit { Monitoring.policies.note(.timerEnded) }
}
