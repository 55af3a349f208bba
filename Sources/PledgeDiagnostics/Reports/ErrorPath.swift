import Pledge

/// The path of an error: from where it was thrown, through the promises that it rejected, to where
/// it was handled, or to the last promise that it rejected.
///
/// The description of a path has one line for each step.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct ErrorPath: Sendable, CustomStringConvertible {
  /// A promise on the path.
  public struct Step: Sendable {
    /// What happened to the error at a step.
    public enum Event: Sendable, Hashable {
      /// A resolver was called with it, or the promise was created with it.
      case rejected
      /// A handler threw it, possibly in place of another error.
      case thrown
      /// The promise was cancelled.
      case cancelled
      /// It came from a promise that isn't in the record.
      case appeared
      /// It was passed on; no closure was called.
      case passed
      /// A closure was called with it, and it was passed on.
      case seen
      /// The promise that a handler returned was rejected with it.
      case adopted
      /// A combinator's result was rejected with it, or a promise whose resolver was passed the
      /// rejected promise.
      case combined
      /// A handler replaced it with a value, as `catch` and `recover` do.
      case handled
      /// A handler threw another error in its place, or a combinator combined several errors.
      case replaced(by: String)
      /// A handler for it hasn't started, or hasn't settled its promise.
      case pending
      /// A task that awaited the promise, or a thread that blocked in `wait()`, received it.
      case delivered
      /// No consumer in the record has received it.
      ///
      /// An `await`, a `wait()`, or an `observe` of a promise that is already settled isn't
      /// recorded.
      case unhandled
    }

    /// The promise's number in the trace.
    public let number: Int
    /// The promise, or the observer of a task or thread.
    package let promise: PromiseDiagnostics.PromiseID
    /// The operation that created it, such as `map`.
    public let operation: String
    /// The name that `named(_:)` gave it.
    public let name: String?
    /// Where it was created.
    public let location: Trace.SourceLocation?
    /// What happened to the error at this step.
    public let event: Event
    /// The number of times the path has branched before this step.
    public let depth: Int
    /// When it happened, as time since the start of the trace.
    public let time: Duration?
    /// A description of the step.
    public let description: String
  }

  /// The error.
  public let error: any Error
  /// The steps, beginning with the error's origin; after a branch, the branches follow one another.
  public let steps: [Step]
  /// The promises that the trace has discarded.
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
  /// Returns the path of the error with which `promise` was rejected; nil if it wasn't rejected or
  /// isn't in the record.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func errorPath(of promise: Promise<some Any>) -> ErrorPath? { errorPath(of: promise.id) }

  /// Returns the path of the error with which the promise with this identifier was rejected; nil if
  /// it wasn't rejected or isn't in the record.
  ///
  /// If the identifier was reused, this returns the path of the latest promise.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  package func errorPath(of promise: PromiseDiagnostics.PromiseID) -> ErrorPath? {
    let snapshot = snapshot()
    return snapshot.ordered.last { $0.id == promise }
      .flatMap { ErrorTracer(snapshot)?.path(through: $0) }
  }

  /// Returns the path of the latest error in the record that has no consumer; nil if there is none.
  ///
  /// Call it in the handler passed to `PromiseDiagnostics.setUnhandledRejectionHandler(_:)`, which
  /// is called only for errors that weren't handled. A trace alone can't be certain of that: see
  /// ``ErrorPath/Step/Event/unhandled``.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func lastUnhandledErrorPath() -> ErrorPath? {
    let snapshot = snapshot()
    return ErrorTracer(snapshot)?.lastUnhandledPath()
  }
}
