extension Diagnostics {
  /// One thing that happened to one promise, as told to the handler of ``setTracer(_:)``.
  public struct TraceEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
      /// The promise was made together with its resolver, at `origin`.
      case created(origin: Origin)
      /// The promise was made by an operator and waits for `source`.
      ///
      /// Observers that make no promise, as `await` and the combinators attach them, are told of in
      /// the same way. `executor` says where the handler will run; `isOperator` whether it has a
      /// closure of the user's.
      case attached(source: PromiseID, executor: String, isOperator: Bool)
      /// The handler that settles the promise began to run.
      case handlerStarted
      /// That handler returned.
      case handlerReturned
      /// The handler returned another promise, `inner`, whose fate this promise takes on.
      case adopted(inner: PromiseID)
      /// The promise was fulfilled, or rejected with `error`.
      case settled(error: (any Error)?)
      /// The promise's consumers, or somebody who called it by name, asked it to stop.
      case cancellationRequested
      /// A thread began to block until the promise settles.
      case waitStarted
      /// That thread goes on.
      case waitEnded
      /// The last reference to the promise is gone; its ID may stand for another one from now on.
      case released
    }

    /// The promise.
    public let promise: PromiseID
    /// What happened.
    public let kind: Kind
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
  public var id: Diagnostics.PromiseID { Diagnostics.PromiseID(cell.root) }
}

extension Guarantee {
  /// What trace events call this guarantee.
  public var id: Diagnostics.PromiseID { promise.id }
}

extension Diagnostics.PromiseID {
  init(_ cell: Cell) {
    rawValue = UInt(bitPattern: Unmanaged.passUnretained(cell).toOpaque())
  }
}
