// Events of the library's policies, which integrations count. Integrations add monitors; without
// any, an event costs one load of a flag.

/// An event of a policy, counted for the whole process.
package enum PolicyEvent: Sendable {
  /// Another attempt starts after a failed one.
  case retried
  /// A retried operation failed permanently.
  case gaveUp
  /// A second or later request was started before an earlier one succeeded.
  case hedged
  /// A timer was started.
  case timerStarted
  /// A timer fired.
  case timerFired
  /// A timer was released: it has fired, or is no longer needed.
  case timerEnded
  /// A rejection wasn't handled.
  case unhandledRejection
}

/// An event of one limiter.
package enum LimiterEvent: Sendable {
  /// The number of waiting operations changed by this much.
  case waiting(Int)
  /// The number of running operations changed by this much.
  case running(Int)
  /// An operation was rejected because the queue was full.
  case rejected
}

/// How a coalescer served a request, or what happened to a cached value.
package enum CoalescerEvent: Sendable {
  /// The coalescer started work for the request.
  case started
  /// The request joined work in progress.
  case joined
  /// The request was served a cached value.
  case cached
  /// The request was served a stale value, which is being refreshed.
  case stale
  /// A stale value couldn't be refreshed.
  case refreshFailed
}

/// A closure that is called for each event, on the thread on which it happens or, if that is a
/// shared thread, on the global queue; never under a lock.
///
/// A protocol with an associated type for its events couldn't be stored before macOS 13.
package typealias Monitor<Event: Sendable> = @Sendable (Event) -> Void

/// The monitors of one object, or of the process.
package struct Monitors<Event: Sendable>: ~Copyable, Sendable {
  private let isEmpty = Atomic(true)
  private let monitors = Mutex<[Monitor<Event>]>([])

  package init() {}

  /// Adds a monitor permanently.
  package func add(_ monitor: @escaping Monitor<Event>) {
    monitors.withLock { $0.append(monitor) }
    isEmpty.store(false, ordering: .releasing)
  }

  /// Whether there are no monitors.
  @inline(__always)
  var areMissing: Bool { isEmpty.load(ordering: .relaxed) }

  @inline(__always)
  func note(_ event: @autoclosure () -> Event) {
    if !areMissing { tell(event()) }
  }

  @inline(never)
  private func tell(_ event: Event) {
    let monitors = monitors.withLock { $0 }
    SharedThread.runUserCode { for monitor in monitors { monitor(event) } }
  }
}

package enum Monitoring {
  /// The monitors of the process.
  package static let policies = Monitors<PolicyEvent>()
}

/// A timer that reports its events to the monitors.
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
