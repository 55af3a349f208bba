extension PromiseDiagnostics {
  /// An unhandled rejection.
  ///
  /// The last promise that was rejected with the error was deallocated, and no handler received the
  /// error.
  public struct UnhandledRejection: Sendable, CustomStringConvertible {
    /// The error.
    public let error: any Error
    /// The source location that created the first promise that was rejected, if known.
    public let origin: SourceLocation?
  }

  /// Whether a handler of unhandled rejections replaces the default.
  package static var reportsElsewhere: Bool { hasHandler.load(ordering: .relaxed) }

  private static let hasHandler = Atomic(false)

  /// Sends reports of unhandled rejections to `handler` instead of standard error; nil restores the
  /// default.
  ///
  /// `handler` runs on the thread that released the last reference to the rejection or, if that is
  /// a thread of the library, on the global queue; never under a lock. A cancellation
  /// (`CancellationError`) isn't reported.
  ///
  /// ```swift
  /// PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
  ///   crashReporter.log("\(rejection.error)")
  /// }
  /// ```
  public static func setUnhandledRejectionHandler(
    _ handler: (@Sendable (UnhandledRejection) -> Void)?
  ) {
    hasHandler.store(handler != nil, ordering: .relaxed)
    guard let handler else { return UnhandledRejections.setReport(nil) }
    UnhandledRejections.setReport { handler(UnhandledRejection(error: $0, origin: $1)) }
  }

  /// The error of the unhandled rejection that the calling thread reports, and its ID in trace events.
  package static var reported: (error: any Error, id: UInt)? {
    ThreadState.current.pointee.reported
  }

  /// Calls `claim` with each unhandled rejection and its ID in trace events.
  ///
  /// If `claim` returns true, it takes over the report. It runs on the thread that released the
  /// last reference to the rejection, which can be any thread, so it must not call user code.
  package static func setClaim(
    _ claim: @escaping @Sendable (UnhandledRejection, _ id: UInt) -> Bool
  ) {
    UnhandledRejections.setClaim { claim(UnhandledRejection(error: $0, origin: $1), $2) }
  }
}

extension PromiseDiagnostics.UnhandledRejection {
  /// The report as a sentence.
  public var description: String { Rejection.unhandledText(error, origin) }
}
