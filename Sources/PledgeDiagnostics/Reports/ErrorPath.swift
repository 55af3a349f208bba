import Pledge

/// The path of an error: from where it was thrown, through the promises that it rejected, to where
/// it was handled, or was left.
///
/// Its description is the path as text.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct ErrorPath: Sendable, CustomStringConvertible {
  /// A promise on the path.
  public struct Step: Sendable {
    /// What happened to the error there.
    public enum Event: Sendable, Hashable {
      /// A resolver was called with it, or the promise was made with it.
      case rejected
      /// A handler threw it, perhaps in place of another error.
      case thrown
      /// The promise was cancelled.
      case cancelled
      /// It came from a promise that isn't in the record.
      case appeared
      /// It was passed along; no handler was called.
      case passed
      /// A handler saw it, and it was passed along.
      case seen
      /// The promise that a handler returned was rejected with it.
      case adopted
      /// A combinator was rejected with it, or a resolver with the promise that it was given.
      case combined
      /// A handler took it and put a value in its place: `catch` or `recover`.
      case handled
      /// A handler took it and threw another error, or a combinator made one of several.
      case replaced(by: String)
      /// A handler took it and has yet to settle its promise, or has yet to start.
      case pending
      /// A task that awaited it, or a thread that blocked in `wait()`, received it.
      case delivered
      /// Nothing in the record has taken it.
      ///
      /// The record lacks the consumers of a promise that had settled before: an `await`, a `wait()`
      /// or an `observe` of such a promise leaves no trace.
      case unhandled
    }

    /// The promise's number in the trace.
    public let number: Int
    /// The promise, or the observer of a task or thread.
    public let promise: PromiseDiagnostics.PromiseID
    /// What made it, such as `map`.
    public let operation: String
    /// The name that the program gave to it.
    public let name: String?
    /// Where it was made, or its operator called.
    public let location: Trace.SourceLocation?
    /// What happened to the error there.
    public let event: Event
    /// The number of branches of the path up to here.
    public let depth: Int
    /// When it happened, as the time of the trace.
    public let time: Duration?
    /// The step in words.
    public let description: String
  }

  /// The error.
  public let error: any Error
  /// The steps, the first one where the error began; after a branch, each in turn.
  public let steps: [Step]
  /// What the trace no longer knows.
  public let forgotten: Forgotten

  /// The path as text, one line per step.
  public var description: String {
    let lines = steps.map { step in
      String(repeating: "  ", count: min(step.depth, 40) + 1) + step.description
    }
    return (["Error: \(error)"] + lines + [forgotten.sentence].compactMap(\.self))
      .joined(separator: "\n")
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// The path of the error with which `promise` was rejected; nil if it was not, or is not in the
  /// record.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func errorPath(of promise: Promise<some Any>) -> ErrorPath? { errorPath(of: promise.id) }

  /// The path of the error with which the promise of this name was rejected; nil if it was not, or
  /// is not in the record.
  ///
  /// A name can be reused: the latest promise counts.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func errorPath(of promise: PromiseDiagnostics.PromiseID) -> ErrorPath? {
    let snapshot = snapshot()
    return snapshot.records.values.filter { $0.id == promise }.max { $0.number < $1.number }
      .flatMap { ErrorTracer(snapshot)?.path(through: $0) }
  }

  /// The path of the latest error in the record without a consumer; nil if there is none.
  ///
  /// Meant for the handler of `PromiseDiagnostics.setUnhandledRejectionHandler(_:)`, which knows that an error was not
  /// handled. A trace alone may be wrong about it: see ``ErrorPath/Step/Event/unhandled``.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func lastUnhandledErrorPath() -> ErrorPath? {
    let snapshot = snapshot()
    return ErrorTracer(snapshot)?.lastUnhandledPath()
  }
}
