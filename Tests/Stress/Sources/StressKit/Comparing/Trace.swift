/// An event that a program can observe.
struct Event: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// A handler ran with this input (nil for `finally` and a limiter's operation).
    case ran(Outcome?)
    /// A call on a resolver, and whether it settled the promise.
    case settled(resolver: Int, Bool)
    /// A resolver's cancellation handler was called.
    case toldToStop
  }

  let id: Int
  let kind: Kind
}

/// Everything observable in one run of a program.
struct Trace: Sendable {
  var events: [Event] = []
  /// The results of the promises at the end of the program's steps, and after everything pending
  /// was dropped.
  var outcomesAtEnd: [Int: Outcome] = [:]
  var finalOutcomes: [Int: Outcome] = [:]
  /// Steps whose handlers ran on the wrong executor.
  var misplaced: Set<Int> = []
  var unhandled: [Failure: Int] = [:]
  /// The handlers that were not released; nil if all were.
  var leaks: String?
  var operationCount = 0
}
