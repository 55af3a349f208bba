public import Pledge

/// When the present work must have ended, because what asked for it doesn't wait any longer.
///
/// On a server with a ``ContextInterceptor``, this is the deadline of the call, and the calls that its
/// handler makes in turn have no more time. In a client, set one for many calls:
///
/// ```swift
/// CallDeadline.$current.withValue(.now + .seconds(10)) { fetchAll() }
/// ```
public enum CallDeadline {
  /// The deadline; nil for none.
  @TaskLocal public static var current: ContinuousClock.Instant?
}

extension TaskLocals {
  /// Has the handlers of all promises find ``CallDeadline/current`` as it was where the operator that
  /// took them was called.
  ///
  /// Call it once, when the program starts. A later call does nothing.
  public static func propagateCallDeadline() { propagate(CallDeadline.$current) }
}

extension Duration {
  /// Reads the time limit that a call brings: up to eight digits and a unit.
  init?(timeLimit text: String) {
    let digits = text.dropLast()
    guard (1...8).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }),
      let count = Int64(digits)
    else { return nil }
    switch text.last {
    case "H": self = .seconds(count * 3600)
    case "M": self = .seconds(count * 60)
    case "S": self = .seconds(count)
    case "m": self = .milliseconds(count)
    case "u": self = .microseconds(count)
    case "n": self = .nanoseconds(count)
    default: return nil
    }
  }
}
