/// All reports that the handler of unhandled rejections received in this process.
///
/// The hook is global and tests run concurrently, so each test searches for its own errors.
enum DiagnosticsLog {
  // Not the errors themselves, which would stay alive.
  private struct Report {
    let error: String
    let origin: PromiseDiagnostics.SourceLocation?
    let text: String
  }

  private static let recorder: Recorder<Report> = {
    let recorder = Recorder<Report>()
    PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
      recorder.record(
        Report(error: "\(rejection.error)", origin: rejection.origin, text: "\(rejection)"))
    }
    return recorder
  }()

  static func install() { _ = recorder }

  /// Returns the source locations in the reports of `error`.
  static func reports(of error: any Error) -> [PromiseDiagnostics.SourceLocation?] {
    all(of: error).map(\.origin)
  }

  /// Returns the texts of the reports of `error`.
  static func texts(of error: any Error) -> [String] { all(of: error).map(\.text) }

  private static func all(of error: any Error) -> [Report] {
    let text = "\(error)"
    return recorder.events.filter { $0.error == text }
  }
}
