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

/// One execution of a handler, from start to end.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Run: Sendable {
  let start: Duration
  var end: Duration?
  let thread: Int
  /// Whether the user's closure was called; it isn't if it doesn't handle this kind of result.
  let callsClosure: Bool
}

/// How and where a promise settled.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Settlement: Sendable {
  let moment: Moment
  let rejection: PromiseDiagnostics.Rejection?
  let callStack: CallStack?
}

/// The recorded data of a promise, or of an observer that isn't a promise.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct Record: Sendable {
  enum Kind: Sendable {
    /// A promise that a resolver settles.
    case resolver
    /// The result of a combinator.
    case combinator
    /// The result of an operator.
    case handler
    /// An observer of an `await` or of a combinator.
    case observer
    /// A thread that blocks in `wait()`.
    case wait
    /// A promise that was created before the recording, or was discarded.
    case unknown
  }

  /// A unique number; promises are numbered in the order in which they became known.
  let number: Int
  let id: PromiseDiagnostics.PromiseID
  var kind: Kind
  /// The name that `named(_:)` gave it.
  var name: String?
  let made: Moment
  var origin: PromiseDiagnostics.SourceLocation?
  var callStack: CallStack?

  /// The promise to which it was attached; nil if there is none, or if it's settled and unknown.
  var source: Int?
  /// Whether the source had settled when it was attached.
  var isSourceSettled = false
  /// The promise for which an observer waits: a combinator's, or one whose handler blocks.
  var result: Int?
  var executor: PromiseDiagnostics.Executor?

  /// The promise that the handler returned.
  var adopted: Int?
  /// The promise whose handler returned this one, and with which it settles.
  var linkedTo: Int?

  var runs: [Run] = []
  var settlement: Settlement?
  var cancelled: Moment?
  /// When it settled, or when nothing else could happen to it.
  var ended: Duration?

  var isPending: Bool { settlement == nil && ended == nil }
  /// Whether it's a promise that was created during the recording.
  var isOwnPromise: Bool { kind == .resolver || kind == .combinator || kind == .handler }
  var isRunning: Bool { runs.last.map { $0.end == nil } ?? false }
  /// The last run that called the user's closure.
  var closureRun: Run? { runs.last { $0.callsClosure } }
}
