import Pledge

/// A moment on a thread, and the handler that was running there.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Moment: Sendable {
  let time: Duration
  /// The number of the thread.
  let thread: Int
  /// The number of the promise whose handler was running there.
  let inside: Int?
}

/// One visit of an executor: a handler from its beginning to its end.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Run: Sendable {
  let start: Duration
  var end: Duration?
  let thread: Int
  /// Whether the user's closure was called; an outcome that does not concern it passes by.
  let callsClosure: Bool
}

/// How and where a promise settled.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Settlement: Sendable {
  let moment: Moment
  let rejection: PromiseDiagnostics.Rejection?
  let callStack: CallStack?
}

/// What is known of one promise, or of an observer that makes none.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Record: Sendable {
  enum Kind: Sendable {
    /// Made with a resolver.
    case resolver
    /// The result of a combinator.
    case combinator
    /// Made by an operator.
    case handler
    /// An observer: `await`, or a combinator's.
    case observer
    /// A thread that blocks in `wait()`.
    case wait
    /// Made before the trace was on, or forgotten.
    case unknown
  }

  /// Tells promises apart; promises are numbered in the order in which they became known.
  let number: Int
  let id: PromiseDiagnostics.PromiseID
  var kind: Kind
  /// What the program calls it.
  var name: String?
  let made: Moment
  var origin: PromiseDiagnostics.SourceLocation?
  var callStack: CallStack?

  /// What it was attached to; nil if it was not, or to a promise that had settled before.
  var source: Int?
  /// Whether the source had settled when it was attached.
  var isSourceSettled = false
  /// The promise that an observer works for.
  var result: Int?
  var executor: PromiseDiagnostics.Executor?

  /// The promise that the handler returned.
  var adopted: Int?
  /// The promise that this one is a part of, since it was returned from that one's handler.
  var linkedTo: Int?

  var runs: [Run] = []
  var settlement: Settlement?
  var cancelled: Moment?
  /// When nothing more can happen to it; for a promise that has settled that may be later.
  var ended: Duration?

  var isPending: Bool { settlement == nil && ended == nil }
  /// Whether it is a promise, and one that was made while the trace was on.
  var isOwnPromise: Bool { kind == .resolver || kind == .combinator || kind == .handler }
  var isRunning: Bool { runs.last.map { $0.end == nil } ?? false }
  /// The last time the user's closure was called, or is about to return.
  var closureRun: Run? { runs.last { $0.callsClosure } }
}
