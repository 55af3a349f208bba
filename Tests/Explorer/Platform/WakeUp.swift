import Exploration

/// One timer in virtual time, on its own queue; wall time doesn't exist.
struct WakeUp: Sendable {
  private let timer: VirtualTimer

  init(_ wake: @escaping @Sendable () -> Void) {
    timer = VirtualTimer(queue: VirtualQueue(label: "timers", isSerial: true), handler: wake)
  }

  func arm(afterNanoseconds delay: Int64) { timer.arm(after: UInt64(max(delay, 0))) }
}
