/// The error of a promise that would otherwise never settle.
public struct BrokenPromiseError: Error, Sendable, CustomStringConvertible {
  /// The reason why a promise can never settle.
  public enum Reason: Sendable, Hashable {
    /// The resolver was deallocated.
    case resolverDropped
    /// An executor dropped a handler without running it.
    case executorDroppedJob
    /// The promise was abandoned; see ``UnmanagedResolver/abandon()``.
    case abandoned
    /// The limiter was deallocated while it was paused, before it started the operation.
    case limiterDropped
    /// A task awaits the value of a guarantee that was cancelled; see ``Guarantee/value``.
    case guaranteeCancelled
  }

  /// The source location where the promise was created, if known.
  public let origin: PromiseDiagnostics.SourceLocation?
  /// The reason why the promise can never settle.
  public let reason: Reason

  init(origin: SourceLocation?, reason: Reason) {
    self.origin = origin
    self.reason = reason
  }

  /// A description of what happened and where the promise was created.
  public var description: String {
    let place = origin.map { "The promise made at \($0)" } ?? "A promise"
    switch reason {
    case .resolverDropped:
      return "\(place) can never settle: its resolver was dropped without being called."
    case .executorDroppedJob:
      return "\(place) can never settle: its executor dropped the handler without running it."
    case .abandoned:
      return "\(place) can never settle: it was abandoned."
    case .limiterDropped:
      return "\(place) can never settle: its limiter was dropped while it was paused."
    case .guaranteeCancelled:
      return """
        A task awaits a guarantee that was cancelled, and stays suspended. Await the guarantee's \
        `promise` where it may be cancelled.
        """
    }
  }
}
