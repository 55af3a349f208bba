import Pledge
import PledgeTesting

/// All reports that the handler of unhandled rejections received in this process.
///
/// The hook is global and tests run concurrently, so each test searches for its own errors.
enum DiagnosticsLog {
  private static let recorder:
    Recorder<(error: String, origin: PromiseDiagnostics.SourceLocation?)> = {
      let recorder = Recorder<(error: String, origin: PromiseDiagnostics.SourceLocation?)>()
      PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
        recorder.record(("\(rejection.error)", rejection.origin))
      }
      return recorder
    }()

  static func install() { _ = recorder }

  /// Returns the source locations in the reports of `error`.
  static func reports(of error: any Error) -> [PromiseDiagnostics.SourceLocation?] {
    let text = "\(error)"
    return recorder.events.filter { $0.error == text }.map(\.origin)
  }
}
