import Pledge

/// The path of an error: from where it was thrown, through the promises that passed it on.
///
/// The description of a path has one line for each step, which says what happened to the error.
public struct ErrorPath: Sendable, CustomStringConvertible {
  /// The error.
  public let error: any Error
  /// The steps, beginning with the error's origin.
  public let steps: [Trace.Line]
  let notice: String?

  /// The path as text, one line per step.
  public var description: String {
    (["Error: \(error)"] + steps.map { "  \($0.description)" }
      + [notice].compactMap(\.self))
      .joined(separator: "\n")
  }
}

extension Trace {
  /// Returns the path of the error to `promise`, which it rejected; nil if the promise wasn't rejected
  /// or isn't in the record.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func errorPath(of promise: Promise<some Any>) -> ErrorPath? {
    let snapshot = snapshot()
    // The latest, because identifiers are reused.
    return snapshot.ordered.last { $0.id == promise.id }.flatMap(snapshot.errorPath)
  }

  /// Returns the path of the latest error in the record that has no consumer; nil if there is none.
  ///
  /// Call it in the handler passed to `PromiseDiagnostics.setUnhandledRejectionHandler(_:)`, which
  /// is called only for errors that weren't handled. A trace alone can't be certain of that: it doesn't
  /// record an `await`, a `wait()`, or an `observe` of a promise that is already settled.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func lastUnhandledErrorPath() -> ErrorPath? {
    snapshot().lastUnhandledErrorPath()
  }
}
