/// A closure that is called for each event, on the thread on which it happens; never under a lock.
///
/// A protocol with an associated type for its events couldn't be stored before macOS 13.
package typealias Monitor<Event: Sendable> = @Sendable (Event) -> Void

/// The monitors of one object, or of the process, which integrations add.
///
/// Without any, an event costs one load of a flag.
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
  ///
  /// Relaxed, because `note` takes the lock before it reads the monitors.
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

/// The monitors of the process.
package enum Monitoring {}
