import Pledge

/// An event of a promise, as threads record it: without a pointer to anything that changes, and
/// small, because a trace stores millions of them.
struct Event {
  enum Kind: UInt8 {
    /// `other` and `object` are the file and the line of the origin, if it's known.
    case created
    /// `other` is the source; `object` the executor.
    case attached
    /// `other` is the promise to which the observer contributes.
    case observes
    /// `other` is the promise for which it waits, or `object` what is no promise.
    case waits
    case handlerStarted
    case closureSkipped
    case handlerReturned
    /// `other` is the promise that the handler returned.
    case adopted
    /// `object` is the rejection.
    case settled
    case withdrawn
    case cancellationRequested
    /// `object` is the executor that the thread serves, if it's the main one.
    case waitStarted
    case waitEnded
    case released
    /// `object` is the name.
    case named
    /// From here on, the thread's events happen in the task of the trace with the number `other`.
    case scope
  }

  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The source, or the promise that the handler returned, is settled.
    static let isSettled = Flags(rawValue: 1)
    /// The handler has a user's closure; when it starts: the closure is called.
    static let hasClosure = Flags(rawValue: 2)
    /// It's the first event of the promise, or of the observer.
    static let isFirst = Flags(rawValue: 4)
    /// The promise doesn't belong to the sample.
    static let isOutsideSample = Flags(rawValue: 8)
  }

  // In an order that leaves no gaps.
  let time: Int64
  let kind: Kind
  var flags: Flags = []
  /// The number of the call stack; zero if there is none.
  var callStack: UInt32 = 0
  let promise: PromiseDiagnostics.PromiseID
  var other: UInt = 0
  /// An object that the event retains, the number of a permanent executor, or a line.
  var object: UInt = 0

  var otherPromise: PromiseDiagnostics.PromiseID { PromiseDiagnostics.PromiseID(rawValue: other) }

  /// The object that the event retains until `takePayload()` is called.
  var payload: Payload? { reference?._withUnsafeGuaranteedRef { $0 } }

  /// Takes the reference to the object, once.
  func takePayload() -> Payload? { reference?.takeRetainedValue() }

  private var reference: Unmanaged<Payload>? {
    // Smaller numbers are permanent executors.
    guard object > 16, kind != .created else { return nil }
    return UnsafeRawPointer(bitPattern: object).map { .fromOpaque($0) }
  }
}

/// What an event refers to beyond numbers.
final class Payload: Sendable {
  let executor: PromiseDiagnostics.Executor?
  let name: String?
  let rejection: PromiseDiagnostics.Rejection?

  init(
    executor: PromiseDiagnostics.Executor? = nil, name: String? = nil,
    rejection: PromiseDiagnostics.Rejection? = nil
  ) {
    self.executor = executor
    self.name = name
    self.rejection = rejection
  }

  var retained: UInt { UInt(bitPattern: Unmanaged.passRetained(self).toOpaque()) }

  /// The executors that exist as long as the process, in the order of the numbers that events store.
  static let permanentExecutors =
    PromiseDiagnostics.ExecutorReference.Permanent.allCases.map { Payload(executor: $0.executor) }
}
