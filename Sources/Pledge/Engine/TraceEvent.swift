extension PromiseDiagnostics {
  /// An event of a promise, as passed to a tracer.
  package struct TraceEvent {
    /// What happened.
    package enum Kind {
      /// The promise was created, with its resolver at `origin`, or by a combinator or in another
      /// way without a known source location.
      case created(origin: SourceLocation?)
      /// An operator created the promise, which waits for `source`; `source` can already be
      /// settled. If it was created fulfilled, no other event has reported it.
      ///
      /// Observers that don't create a promise, such as those of `await` and of combinators, are
      /// reported in the same way. `executor` is where the handler will run, and `isOperator` is
      /// whether it creates a promise or has a closure.
      case attached(
        source: PromiseID, isSettled: Bool, wasCreatedFulfilled: Bool, executor: ExecutorReference,
        isOperator: Bool)
      /// The observer, which doesn't create a promise itself, contributes to the given promise, for
      /// example that of a combinator.
      ///
      /// This is reported before the observer is attached.
      case observes(for: PromiseID)
      /// The promise waits for what no other event reports.
      case waits(for: Awaited)
      /// The handler that settles the promise started.
      ///
      /// `callsClosure` is true if its source's result is passed to the user's closure, and false
      /// if the result is passed on.
      case handlerStarted(callsClosure: Bool)
      /// The closure of the running handler didn't call the user's, for example because that handles
      /// other errors.
      case closureSkipped
      /// The handler that settles the promise returned.
      case handlerReturned
      /// The handler returned another promise, `inner`, with whose result this promise settles;
      /// `inner` can already be settled.
      ///
      /// If `inner` is released before it settles, this promise waits for the one that `inner` has
      /// adopted.
      case adopted(inner: PromiseID, isSettled: Bool)
      /// The promise was fulfilled or, if there is a rejection, rejected.
      case settled(RejectionReference?)
      /// The observer was removed and won't be called.
      case withdrawn
      /// The promise was cancelled directly.
      case cancellationRequested
      /// A thread started to block until the promise settles to which the observer is attached;
      /// `isOnMain` is whether it serves the main queue.
      case waitStarted(isOnMain: Bool)
      /// The thread that was blocked for the observer continues.
      case waitEnded
      /// The promise was deallocated; from now on, its ID can be reused for another promise.
      case released
    }

    /// The promise.
    package let promise: PromiseID
    /// What happened.
    package let kind: Kind
  }

  /// A rejection, which propagates from promise to promise.
  package struct Rejection: Sendable {
    /// The error.
    package let error: any Error
    /// A number that is the same for all promises of a chain through which the error propagated,
    /// and different for a promise whose handler threw the error again.
    package let id: UInt
    /// The source location that created the first promise that was rejected, if known.
    package let origin: SourceLocation?
    /// Whether a cancellation rejected the promises, or an error that stands for one.
    package let isCancellation: Bool
  }

  /// What a promise waits for besides its source, its inputs, and the promise that its handler returned.
  package enum Awaited {
    /// Another promise, or what its cancellation has left.
    case promise(PromiseID)
    case outside(Outside)
  }

  /// What a promise waits for that isn't a promise.
  @usableFromInline
  package enum Outside: UInt8, Sendable {
    /// Nothing: only a cancellation can settle it.
    case nothing = 1
    /// A limiter, or the operation that it has started.
    case limiter
    /// One of its policies, or the operation that they have started.
    case policies
    /// The start of a batch.
    case batch
    /// The operation, which has started.
    case operation
    /// The end of a scope's work.
    case scope
  }

  /// An executor of handlers, as reported to tracers.
  package struct Executor: Hashable, Sendable {
    /// The name: a queue's label, an actor's type, or the type of the executor.
    package let name: String
    /// A number that is the same for all handlers on the same executor; nil if it has no identity.
    package let id: UInt?
    /// Whether it runs one handler at a time; nil if that is unknown, as it is for queues.
    package let isSerial: Bool?

    package init(name: String, id: UInt?, isSerial: Bool?) {
      self.name = name
      self.id = id
      self.isSerial = isSerial
    }
  }

  /// The executor of a handler, which can be described only during the event.
  package struct ExecutorReference {
    let target: Unmanaged<AnyObject>?
    let kind: HandlerTarget.Kind
  }

  /// A rejection, which can be read only during the event.
  package struct RejectionReference {
    let rejection: Unmanaged<Pledge.Rejection>
  }

  /// Identifies a promise while it exists.
  package struct PromiseID: Hashable, Sendable, CustomStringConvertible {
    /// The number: an address in memory.
    package let rawValue: UInt

    package init(rawValue: UInt) { self.rawValue = rawValue }

    /// The number in hexadecimal digits.
    package var description: String { String(rawValue, radix: 16) }

    init(_ cell: __shared Cell) {
      rawValue = UInt(bitPattern: Unmanaged.passUnretained(cell).toOpaque())
    }
  }
}

extension PromiseDiagnostics.TraceEvent.Kind {
  static func attached(_ observer: __shared Handler, to source: __shared Cell) -> Self {
    .attached(
      source: PromiseDiagnostics.PromiseID(source), isSettled: source.isSettled,
      wasCreatedFulfilled: source.wasCreatedFulfilled,
      executor: PromiseDiagnostics.ExecutorReference(
        target: observer.target, kind: observer.targetKind),
      isOperator: observer.body != nil || observer.role.has(.uncancellable)
        || !observer.role.has(.abandonment))
  }

  static func adopted(_ inner: __shared Cell, isSettled: Bool) -> Self {
    .adopted(inner: PromiseDiagnostics.PromiseID(inner), isSettled: isSettled)
  }

  static func settled(_ rejection: __shared Rejection?) -> Self {
    .settled(
      rejection.map { PromiseDiagnostics.RejectionReference(rejection: .passUnretained($0)) })
  }
}
