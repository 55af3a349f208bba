/// Something that a program can observe.
struct Event: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// A handler ran, with this input (none for `finally` and a limiter's operation).
    case ran(Outcome?)
    /// A settlement was tried, and won or lost.
    case settled(resolver: Int, Bool)
    /// A resolver was told of a cancellation.
    case toldToStop
  }

  let id: Int
  let kind: Kind
}

/// All that could be observed of one run of a program.
struct Trace: Sendable {
  var events: [Event] = []
  /// The results of the promises by the end of the program's steps, and once all that was
  /// pending had been dropped.
  var outcomesAtEnd: [Int: Outcome] = [:]
  var finalOutcomes: [Int: Outcome] = [:]
  /// Steps whose handlers ran elsewhere than they were meant to.
  var misplaced: Set<Int> = []
  var unhandled: [Failure: Int] = [:]
  /// Handlers that were not released.
  var leakCount = 0
  /// How many steps and handlers ran.
  var operationCount = 0
}
