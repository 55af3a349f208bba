import Foundation
import Pledge

/// Returns a guarantee that is resolved after `seconds`, on the global queue.
public func after(seconds: TimeInterval) -> Guarantee<Void> {
  // More than a century, or a value that is no number, means never.
  let longest: TimeInterval = 100 * 366 * 86_400
  return after(Duration.seconds(seconds < longest ? max(seconds, 0) : longest))
}

/// Returns a guarantee that is resolved after `interval`, on the global queue.
public func after(_ interval: DispatchTimeInterval) -> Guarantee<Void> {
  switch interval {
  case .seconds(let count): after(Duration.seconds(count))
  case .milliseconds(let count): after(Duration.milliseconds(count))
  case .microseconds(let count): after(Duration.microseconds(count))
  case .nanoseconds(let count): after(Duration.nanoseconds(count))
  default: Guarantee(.pending)
  }
}

private func after(_ duration: Duration) -> Guarantee<Void> {
  // Never resolved inside the call, not even if there is nothing to wait for.
  let timer = Pledge.Promise.after(max(duration, .nanoseconds(1)))
  return Guarantee(core: timer.map(on: .immediate) { Boxed(()) })
}
