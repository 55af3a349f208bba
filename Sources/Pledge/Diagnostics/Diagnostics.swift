/// Reports on promises that went wrong without anybody noticing.
public enum Diagnostics {
  /// Something that a program should have handled.
  public enum Event: Sendable {
    /// The last promise that was rejected with this error is gone, and nobody handled the error.
    ///
    /// `origin` is the place where the promise was made, where it is known.
    case unhandledRejection(any Error, origin: Origin?)
  }

  /// Sends reports to `handler` instead of standard error; nil restores that.
  ///
  /// `handler` runs on the thread that released the last reference, never under a lock. A
  /// cancellation (`CancellationError`) is not reported.
  public static func setHandler(_ handler: (@Sendable (Event) -> Void)?) {
    guard let handler else { return Instrumentation.setReport(nil) }
    Instrumentation.setReport { handler(.unhandledRejection($0, origin: $1)) }
  }

  /// Tells `tracer` all that happens to promises from now on; nil ends that, and makes it free.
  ///
  /// `tracer` runs on the thread on which a thing happens, in the midst of it: it must be quick and
  /// must not use promises. Events of one promise come in order, but for those of threads that meet
  /// there at that moment. For a tracer that keeps books see the module `PledgeDiagnostics`.
  public static func setTracer(_ tracer: (@Sendable (TraceEvent) -> Void)?) {
    guard let tracer else { return Instrumentation.setTracer(nil) }
    Instrumentation.setTracer { cell, step in tracer(TraceEvent(cell, step)) }
  }
}

extension Diagnostics.Event: CustomStringConvertible {
  /// The report as a sentence.
  public var description: String {
    switch self {
    case .unhandledRejection(let error, let origin): Rejection.unhandledText(error, origin)
    }
  }
}
