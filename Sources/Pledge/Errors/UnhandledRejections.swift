/// The reports of rejections that nothing handled.
enum UnhandledRejections {
  /// A struct, because a closure that is used directly as a generic argument needs one more thunk
  /// at each access.
  private struct Hooks {
    var report: (@Sendable (any Error, SourceLocation?) -> Void)?
    var claim: (@Sendable (any Error, SourceLocation?, UInt) -> Bool)?
  }

  private static let hooks = Mutex(Hooks())

  /// Installs `report`, which receives the reports instead of standard error; nil removes it.
  static func setReport(_ report: (@Sendable (any Error, SourceLocation?) -> Void)?) {
    let old = hooks.withLock { exchange(&$0.report, with: report) }
    // The objects that it captured are released outside the lock.
    withExtendedLifetime(old) {}
  }

  /// Installs `claim`, which returns whether it takes over a report; nil removes it.
  ///
  /// Its third argument is the identity of the rejection for tracers. `claim` runs on the thread
  /// that released the rejection, which can be any thread: it must not call user code.
  static func setClaim(_ claim: (@Sendable (any Error, SourceLocation?, UInt) -> Bool)?) {
    let old = hooks.withLock { exchange(&$0.claim, with: claim) }
    withExtendedLifetime(old) {}
  }

  /// Reports a rejection to the tool that claims it, and otherwise to the installed report or
  /// standard error.
  static func report(_ error: any Error, _ origin: SourceLocation?, id: UInt) {
    if let claim = hooks.withLock({ $0.claim }), claim(error, origin, id) { return }
    Monitoring.unhandledRejections.note(())
    // A rejection that the report itself leaves unhandled must not be reported to it again.
    let state = ThreadState.current
    if state.pointee.reported == nil, let report = hooks.withLock({ $0.report }) {
      state.pointee.reported = (error, id)
      report(error, origin)
      state.pointee.reported = nil
    } else {
      StandardError.write("Pledge: \(Rejection.unhandledText(error, origin))\n")
    }
  }
}

extension Monitoring {
  /// Receive an event for each rejection that wasn't handled.
  package static let unhandledRejections = Monitors<Void>()
}
