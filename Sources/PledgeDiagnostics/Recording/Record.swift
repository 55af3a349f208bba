import Pledge

/// A number from one on, or nil, in four bytes, because a trace keeps many.
@propertyWrapper
struct Compact: Sendable {
  private var value: UInt32

  init(wrappedValue: Int?) { value = UInt32(truncatingIfNeeded: wrappedValue ?? 0) }

  var wrappedValue: Int? {
    get { value == 0 ? nil : Int(value) }
    set { value = UInt32(truncatingIfNeeded: newValue ?? 0) }
  }
}

/// A moment on a thread, and the handler that was running there.
struct Moment: Sendable {
  /// The time in nanoseconds.
  let time: Int64
  /// The number of the thread.
  let thread: UInt32
  /// The number of the promise whose handler was running there.
  @Compact var inside: Int?
}

/// How and where a promise settled, or otherwise when nothing else could happen to it.
struct Ending: Sendable {
  let moment: Moment
  /// The number of its call stack.
  var callStack: UInt32 = 0
  /// The number of the rejection in the log; nil if it was fulfilled.
  @Compact var rejection: Int? = nil
  var isSettlement = false
}

/// The recorded data of a promise, or of an observer that isn't a promise.
///
/// A trace keeps as many as its limit, so it has only 128 bytes. What few promises have is in the
/// log.
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

  /// The execution of the handler, or the wait.
  struct Run: Sendable {
    let start: Int64
    /// When it ended; nil while it runs.
    private(set) var end: Int64?
    let thread: UInt32
    /// Whether the user's closure was called; it isn't if it doesn't handle this kind of result.
    var callsClosure: Bool

    init(_ moment: Moment, callsClosure: Bool) {
      start = moment.time
      thread = moment.thread
      self.callsClosure = callsClosure
    }

    var isRunning: Bool { end == nil }
    mutating func end(at time: Int64) { end = end ?? time }
  }

  // In an order that leaves no gaps.
  let id: PromiseDiagnostics.PromiseID
  let made: Moment
  var origin: PromiseDiagnostics.SourceLocation?
  /// The description of its executor, which all events with the same executor share.
  var executorPayload: Payload?
  /// How it ended; nil while it's pending.
  var ending: Ending?
  var kind: Kind
  /// What it waits for that isn't a promise, if known.
  var outside: PromiseDiagnostics.Outside?
  /// The number of the call stack that created it.
  var callStack: UInt32 = 0
  var run: Run?
  private let shortNumber: UInt32
  /// The promise to which it was attached, or for which a resolver's promise waits; nil if there is
  /// none, or if it's settled and unknown.
  @Compact var source: Int?
  /// The promise for which an observer waits: a combinator's, or one whose handler blocks.
  @Compact var result: Int?
  /// The promise that the handler returned.
  @Compact var adopted: Int?
  /// The promise whose handler returned this one; the last one if there are several.
  @Compact var adopter: Int?

  init(number: Int, id: PromiseDiagnostics.PromiseID, kind: Kind, made: Moment) {
    shortNumber = UInt32(truncatingIfNeeded: number)
    self.id = id
    self.kind = kind
    self.made = made
  }

  /// A unique number; promises are numbered in the order in which they became known.
  var number: Int { Int(shortNumber) }

  var executor: PromiseDiagnostics.Executor? { executorPayload?.executor }

  var settlement: Ending? { ending.flatMap { $0.isSettlement ? $0 : nil } }
  var isPending: Bool { ending == nil }
  var endTime: Int64 { ending?.moment.time ?? 0 }
  /// Whether it's the observer of an input of another promise, such as that of a combinator.
  var isInput: Bool { kind == .observer && result != nil }
  var calledClosure: Bool { run?.callsClosure == true }
}
