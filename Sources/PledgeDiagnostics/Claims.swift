import Pledge

/// The tools that take over reports of unhandled rejections.
///
/// The traces of tests are asked first: they know to which test a promise belongs.
package enum Claims {
  /// Returns whether it takes over the report.
  ///
  /// It's called on the thread that released the rejection, which can be any thread, so it must
  /// not call user code.
  package typealias Claim = @Sendable (PromiseDiagnostics.UnhandledRejection) -> Bool

  private static let others = Mutex<[Claim]>([])

  /// Asks `claim` about each rejection that no earlier claim takes, from now on.
  ///
  /// - Parameter first: Whether to ask it before all others.
  package static func add(first: Bool = false, _ claim: @escaping Claim) {
    others.withLock { $0.insert(claim, at: first ? 0 : $0.count) }
    start()
  }

  /// Starts to receive unhandled rejections.
  static func start() {
    PromiseDiagnostics.setClaim { rejection, id in
      if Recorder.claim(rejection, id) { return true }
      return others.withLock { $0 }.contains { $0(rejection) }
    }
  }
}
