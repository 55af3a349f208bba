import Pledge
import PledgeTesting

/// All that the hook for unhandled rejections was told in this process.
///
/// The hook is one for the process, and tests run side by side: each looks for its own errors.
enum DiagnosticsLog {
  private static let recorder: Recorder<(error: String, origin: Origin?)> = {
    let recorder = Recorder<(error: String, origin: Origin?)>()
    listen(recorder)
    return recorder
  }()

  static func install() { _ = recorder }

  /// For a test that has set a hook of its own.
  static func reinstall() { listen(recorder) }

  private static func listen(_ recorder: Recorder<(error: String, origin: Origin?)>) {
    Diagnostics.setHandler { event in
      switch event {
      case .unhandledRejection(let error, let origin):
        recorder.record(("\(error)", origin))
      }
    }
  }

  /// The places of origin of the reports on `error`.
  static func reports(of error: any Error) -> [Origin?] {
    recorder.events.filter { $0.error == "\(error)" }.map(\.origin)
  }
}
