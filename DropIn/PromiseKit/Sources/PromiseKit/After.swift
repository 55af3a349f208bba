import Foundation
import Pledge

/// Returns a guarantee that is resolved after `seconds`, on the global queue.
public func after(seconds: TimeInterval) -> Guarantee<Void> {
  // More than a century, or a value that is no number, means never.
  let longest: TimeInterval = 100 * 366 * 86_400
  let seconds = seconds < longest ? max(seconds, 0) : longest
  // The smallest unit in which an integer, of 32 bits on some systems, can hold the time.
  if let count = Int(exactly: (seconds * 1e9).rounded()) { return after(.nanoseconds(count)) }
  if let count = Int(exactly: (seconds * 1e6).rounded()) { return after(.microseconds(count)) }
  if let count = Int(exactly: (seconds * 1e3).rounded()) { return after(.milliseconds(count)) }
  return Int(exactly: seconds.rounded()).map { after(.seconds($0)) } ?? Guarantee(.pending)
}

/// Returns a guarantee that is resolved after `interval`, on the global queue.
public func after(_ interval: DispatchTimeInterval) -> Guarantee<Void> {
  let isOver =
    switch interval {
    case .seconds(let count): count <= 0
    case .milliseconds(let count): count <= 0
    case .microseconds(let count): count <= 0
    case .nanoseconds(let count): count <= 0
    default: false
    }
  // Never resolved inside the call, not even if there is nothing to wait for.
  let timer = Pledge.Promise.after(isOver ? DispatchTimeInterval.nanoseconds(1) : interval)
  return Guarantee(core: timer.map(on: .immediate) { Boxed(()) })
}
