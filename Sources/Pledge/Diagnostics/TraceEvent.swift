extension PromiseDiagnostics {
  /// An event of a promise, as passed to the handler of ``setTracer(_:)``.
  public struct TraceEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
      /// The promise was created with its resolver, at `origin`; or by a combinator, or in another
      /// way without a known source location.
      case created(origin: SourceLocation?)
      /// An operator created the promise, which waits for `source`; `source` can already be
      /// settled.
      ///
      /// Observers that create no promise, such as those of `await` and of combinators, are
      /// reported in the same way. `executor` says where the handler will run; `isOperator` whether
      /// it has a user's closure. A promise whose handler returned another one can be attached a
      /// second time, to that one.
      case attached(source: PromiseID, isSettled: Bool, executor: Executor, isOperator: Bool)
      /// The observer, which makes no promise itself, works for `result`, the promise of a
      /// combinator for instance.
      ///
      /// Reported before the observer is attached.
      case observes(for: PromiseID)
      /// The handler that settles the promise began to run; `callsClosure` says whether the outcome
      /// of its source is passed to the user's closure, or past it.
      case handlerStarted(callsClosure: Bool)
      /// That handler returned.
      case handlerReturned
      /// The handler returned another promise, `inner`, as which this promise settles; it can
      /// already be settled.
      ///
      /// Where no second `attached` follows, the two promises are one from now on, and the events of
      /// its settlement bear this promise's name.
      case adopted(inner: PromiseID, isSettled: Bool)
      /// The promise was fulfilled, or rejected.
      case settled(Rejection?)
      /// The observer was removed and will not be called.
      case withdrawn
      /// The promise was cancelled directly.
      case cancellationRequested
      /// A thread began to block until the promise settles.
      case waitStarted
      /// That thread continues.
      case waitEnded
      /// The promise was deallocated; its ID can be reused for another promise from now on.
      case released
    }

    /// The promise.
    public let promise: PromiseID
    /// What happened.
    public let kind: Kind
  }

  /// An error that propagates from promise to promise.
  public struct Rejection: Sendable {
    /// The error.
    public let error: any Error
    /// The same for all promises of a chain through which the error propagated; different for a
    /// promise whose handler threw it again.
    public let id: UInt
    /// Where the promise was made at which it began, where that is known.
    public let origin: SourceLocation?
  }

  /// Where handlers run, as reported to tracers.
  public struct Executor: Hashable, Sendable {
    /// What it is called: a queue's label, an actor's type, or the type of the executor.
    public let name: String
    /// The same for all handlers that go to the same executor; nil if it has no identity.
    public let id: UInt?
    /// Whether it runs one handler at a time; nil if that is unknown, as it is for queues.
    public let isSerial: Bool?
  }

  /// Names a promise for as long as it exists.
  public struct PromiseID: Hashable, Sendable, CustomStringConvertible {
    /// The number: an address in memory.
    public let rawValue: UInt

    /// The number in hexadecimal digits.
    public var description: String { String(rawValue, radix: 16) }
  }
}

extension Promise {
  /// What trace events call this promise.
  ///
  /// A promise that a handler returned continues under the name of the promise that adopted it.
  public var id: PromiseDiagnostics.PromiseID { PromiseDiagnostics.PromiseID(cell) }
}

extension Guarantee {
  /// What trace events call this guarantee.
  public var id: PromiseDiagnostics.PromiseID { base.id }
}
