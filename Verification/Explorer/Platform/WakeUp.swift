import VirtualPlatform

/// One timer in virtual time, on a queue of its own; of wall time there is none.
struct WakeUp: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  init(_ wake: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timers"))
    source.setEventHandler(handler: wake)
    source.activate()
  }

  func arm(after delay: Duration) {
    let (seconds, attoseconds) = max(.zero, delay).components
    source.schedule(
      deadline: .now() + .nanoseconds(Int(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)),
      leeway: .nanoseconds(0))
  }
}
