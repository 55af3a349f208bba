extension PromiseDiagnostics {
  /// An event of a promise, as passed to the handler of ``setTracer(_:)``.
  public struct TraceEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
      /// The promise was made together with its resolver, at `origin`; or by a combinator, or in
      /// another way that leaves the place unknown.
      case created(origin: SourceLocation?)
      /// The promise was made by an operator and waits for `source`, which may have settled before.
      ///
      /// Observers that make no promise, as `await` and the combinators attach them, are told of in
      /// the same way. `executor` says where the handler will run; `isOperator` whether it has a
      /// closure of the user's. A promise whose handler returned another one may be attached once
      /// more, to that one.
      case attached(source: PromiseID, isSettled: Bool, executor: Executor, isOperator: Bool)
      /// The observer, which makes no promise itself, works for `result`, the promise of a
      /// combinator for instance.
      ///
      /// Told before the observer is attached.
      case observes(for: PromiseID)
      /// The handler that settles the promise began to run; `callsClosure` says whether the outcome
      /// of its source is one for the user's closure, or passes by.
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

  /// An error on its way from promise to promise.
  public struct Rejection: Sendable {
    /// The error.
    public let error: any Error
    /// The same for all promises down a chain that the error was passed along; not for a promise
    /// whose handler threw it anew.
    public let id: UInt
    /// Where the promise was made at which it began, where that is known.
    public let origin: SourceLocation?
  }

  /// Where handlers run, as traces tell it.
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
  /// A promise that was returned from a handler goes on under the name of the promise that adopted
  /// it.
  public var id: PromiseDiagnostics.PromiseID { PromiseDiagnostics.PromiseID(cell.resolved) }
}

extension Guarantee {
  /// What trace events call this guarantee.
  public var id: PromiseDiagnostics.PromiseID { base.id }
}
