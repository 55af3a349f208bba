import Foundation
import Pledge

/// Returns a guarantee that is resolved after `seconds`, on the global queue.
public func after(seconds: TimeInterval) -> Guarantee<Void> {
  // More than a century, or a value that isn't a number, means never.
  let longest: TimeInterval = 100 * 366 * 86_400
  let seconds = seconds < longest ? max(seconds, 0) : longest
  // The smallest unit in which the time fits into an `Int`, which has 32 bits on some platforms.
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
  // The guarantee is never resolved inside the call, even if there is no time to wait.
  let timer = Pledge.Promise.after(isOver ? DispatchTimeInterval.nanoseconds(1) : interval)
  return Guarantee(core: timer.map(on: .immediate) { Boxed(()) })
}
