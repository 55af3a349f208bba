import FetchSupport
import Foundation
import Pledge
import Synchronization

/// What the user sees while files arrive: a bar on a terminal, plain lines elsewhere.
final class Console: Sendable {
  private struct State {
    var renderer: ProgressRenderer
    var progress: TransferProgress
  }

  private let state: Mutex<State>
  private let start = ContinuousClock.now
  private let isQuiet: Bool

  init(fileCount: Int, byteCount: Int?, isQuiet: Bool) {
    self.isQuiet = isQuiet
    let style: ProgressRenderer.Style =
      Terminal.canRedraw() ? .bar(width: Terminal.width() ?? 80) : .lines
    state = Mutex(
      State(
        renderer: ProgressRenderer(style: style),
        progress: TransferProgress(filesTotal: fileCount, bytesTotal: byteCount)))
  }

  var elapsed: Duration { .now - start }

  /// Tells that bytes have arrived.
  func received(_ count: Int) {
    change { state in
      state.progress.bytesDone += count
      return state.renderer.update(state.progress)
    }
  }

  /// Tells that a file is done, or was given up.
  func finished(_ outcome: Outcome) {
    change { state in
      switch outcome {
      case .saved:
        state.progress.filesDone += 1
        return state.renderer.update(state.progress)
      case .failed(let file, let error):
        state.progress.filesFailed += 1
        return state.renderer.announce("fetch: \(file.name): \(reason(for: error))", state.progress)
      }
    }
  }

  /// Writes `line` above the progress, if that is shown.
  func say(_ line: String) {
    guard !isQuiet else { return FileHandle.standardError.write(Data("\(line)\n".utf8)) }
    change { state in state.renderer.announce(line, state.progress) }
  }

  /// Draws the progress for the last time.
  func finish() {
    change { state in state.renderer.finish(state.progress) }
  }

  private func change(_ draw: (inout State) -> String?) {
    // Written under the lock, so that lines of two threads do not mix.
    state.withLock { state in
      state.progress.elapsed = elapsed
      guard let text = draw(&state), !isQuiet else { return }
      FileHandle.standardError.write(Data(text.utf8))
    }
  }
}

/// A number that several threads count up.
final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func increment() { count.wrappingAdd(1, ordering: .relaxed) }
}
