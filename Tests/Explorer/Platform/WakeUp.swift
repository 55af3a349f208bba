import VirtualPlatform

/// One timer in virtual time, on its own queue; wall time doesn't exist.
struct WakeUp: @unchecked Sendable {
  private let source: any DispatchSourceTimer

  init(_ wake: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timers"))
    source.setEventHandler(handler: wake)
    source.activate()
  }

  func arm(afterNanoseconds delay: Int64) {
    source.schedule(deadline: .now() + .nanoseconds(Int(max(delay, 0))), leeway: .nanoseconds(0))
  }
}
