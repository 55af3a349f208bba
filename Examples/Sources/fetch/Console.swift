import FetchEngine
import FetchSupport
import Foundation
import Pledge
import Synchronization

/// What the user sees while files arrive: bars on a terminal, plain lines elsewhere.
final class Console: Sendable {
  private struct State {
    var renderer: ProgressRenderer
    var board: ProgressBoard
    var isFinished = false
  }

  private let state: Mutex<State>
  private let start = ContinuousClock.now
  private let isQuiet: Bool

  init(fileCount: Int, isQuiet: Bool) {
    self.isQuiet = isQuiet
    let style: ProgressRenderer.Style =
      Terminal.canRedraw() ? .bar(width: Terminal.width() ?? 80) : .lines
    state = Mutex(
      State(renderer: ProgressRenderer(style: style), board: ProgressBoard(fileCount: fileCount)))
  }

  var elapsed: Duration { .now - start }

  /// Shows what has happened.
  func note(_ event: Event) {
    change { state in
      switch event {
      case .started(let file, let resume):
        state.board.start(file.name, resume)
      case .received(let file, let connection, let count):
        state.board.receive(file.name, connection: connection, count: count)
      case .disconnected(let file, let connection):
        state.board.disconnect(file.name, connection: connection)
      case .waiting(let file, let delay, let error, let isAsked):
        let time = HumanReadable.duration(delay)
        let action = isAsked ? "waits \(time) as the server asks" : "tries again in \(time)"
        state.board.wait(file.name, "\(action): \(reason(for: error))")
        // A short pause is not worth a line.
        if isAsked, delay > .seconds(5) { return "fetch: \(file.name) \(action)" }
      case .ended(.saved(let saved, _)):
        state.board.end(saved.file.name, byteCount: saved.byteCount)
      case .ended(.failed(let file, let error, _)):
        state.board.end(file.name, byteCount: nil)
        return "fetch: \(file.name): \(reason(for: error))"
      }
      return nil
    }
  }

  /// Draws twice a second until ``finish()``, for what changes without an event.
  func tick() -> Promise<Void> {
    Promise.after(.milliseconds(500)).then(on: .immediate) { [self] in
      change { _ in nil }
      return state.withLock { $0.isFinished } ? .value(()) : tick()
    }
  }

  /// Writes `line` above the progress, if that is shown.
  func say(_ line: String) {
    if isQuiet || state.withLock({ $0.isFinished }) {
      return FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
    change { _ in line }
  }

  /// Draws the progress for the last time.
  func finish() {
    state.withLock { state in
      guard !state.isFinished else { return }
      state.isFinished = true
      let text = state.renderer.finish(state.board.reading(at: elapsed))
      if !isQuiet { FileHandle.standardError.write(Data(text.utf8)) }
    }
  }

  /// Changes the board, and draws it if it is time; what `body` returns stands above.
  private func change(_ body: (inout State) -> String?) {
    if isQuiet { return }
    // Written under the lock, so that lines of two threads do not mix.
    state.withLock { state in
      let line = body(&state)
      let elapsed = elapsed
      guard !state.isFinished, line != nil || state.renderer.isDue(elapsed) else {
        return
      }
      if case .bar = state.renderer.style {
        // It may have been resized.
        state.renderer.style = .bar(width: Terminal.width() ?? 80)
      }
      let reading = state.board.reading(at: elapsed)
      let text =
        line.map { state.renderer.announce($0, reading) } ?? state.renderer.update(reading)
      if let text { FileHandle.standardError.write(Data(text.utf8)) }
    }
  }
}
