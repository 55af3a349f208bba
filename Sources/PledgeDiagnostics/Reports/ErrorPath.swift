import Pledge

/// The path of an error: from where it was thrown, through the promises that it rejected, to where
/// it was handled, or to the last promise that it rejected.
///
/// The description of a path has one line for each step, which says what happened to the error.
public struct ErrorPath: Sendable, CustomStringConvertible {
  /// The error.
  public let error: any Error
  /// The steps, beginning with the error's origin; after a branch, the branches follow one another.
  ///
  /// The last step of a branch says so if no consumer in the record has received the error. An
  /// `await`, a `wait()`, or an `observe` of a promise that is already settled isn't recorded.
  public let steps: [Trace.Line]
  /// The promises that the trace has discarded.
  public let forgotten: Forgotten

  /// The path as text, one line per step.
  public var description: String {
    (["Error: \(error)"] + steps.indented().map { "  " + $0 }
      + [forgotten.sentence].compactMap(\.self))
      .joined(separator: "\n")
  }
}

extension Trace {
  /// Returns the path of the error with which `promise` was rejected; nil if it wasn't rejected or
  /// isn't in the record.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func errorPath(of promise: Promise<some Any>) -> ErrorPath? {
    let tracer = ErrorTracer(snapshot())
    // The latest, because identifiers are reused.
    let record = tracer.snapshot.ordered.last { $0.id == promise.id }
    return record.flatMap { tracer.path(through: $0) }
  }

  /// Returns the path of the latest error in the record that has no consumer; nil if there is none.
  ///
  /// Call it in the handler passed to `PromiseDiagnostics.setUnhandledRejectionHandler(_:)`, which
  /// is called only for errors that weren't handled. A trace alone can't be certain of that: see
  /// ``ErrorPath/steps``.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func lastUnhandledErrorPath() -> ErrorPath? {
    ErrorTracer(snapshot()).lastUnhandledPath()
  }
}
