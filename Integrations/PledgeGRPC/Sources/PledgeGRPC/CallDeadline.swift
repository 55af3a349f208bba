public import Pledge

/// The deadline for the calls of the current task.
///
/// On a server with a ``ContextInterceptor``, it is the deadline of the call that is being handled, and
/// also limits the calls that the handler makes. In a client, set a deadline for several calls:
///
/// ```swift
/// CallDeadline.$current.withValue(.now + .seconds(10)) { fetchAll() }
/// ```
public enum CallDeadline {
  /// The deadline, if there is one.
  @TaskLocal public static var current: ContinuousClock.Instant?
}

extension TaskLocals {
  /// Propagates ``CallDeadline/current`` from where a handler is attached to the handler, for all
  /// promises.
  ///
  /// Call it once, when the program starts. Later calls do nothing.
  public static func propagateCallDeadline() { propagate(CallDeadline.$current) }
}

extension Duration {
  /// Parses the time limit in a call's metadata: up to eight digits and a unit.
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
