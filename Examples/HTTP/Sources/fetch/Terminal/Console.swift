import Foundation
import Pledge
import PledgeFoundation
import Synchronization

/// Shows progress on standard error: a bar on a terminal, plain lines elsewhere.
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
    let columns: @Sendable () -> Int = { Terminal.columns() }
    let renderer = ProgressRenderer(columns: Terminal.canRedraw() ? columns : nil)
    state = Mutex(State(renderer: renderer, board: ProgressBoard(fileCount: fileCount)))
  }

  func note(_ event: Event) {
    if isQuiet {
      // Nothing shows the progress, so nothing has to track it.
      if case .ended(let file, .failure(let error)) = event { say(message(file, error)) }
      return
    }
    change { state in
      switch event {
      case .started(let file, let received, let size):
        state.board.start(file.name, received: received, of: size)
      case .received(let file, let count): state.board.receive(file.name, count: count)
      case .waiting(let file, let delay, let error, let isAsked):
        // A short delay isn't worth a line.
        if delay > .seconds(5) {
          let time = HumanReadable.duration(delay) + (isAsked ? " (Retry-After)" : "")
          return "fetch: \(file.name): retrying in \(time): \(reason(for: error))"
        }
      case .ended(let file, let result):
        state.board.end(file.name, byteCount: try? result.get())
        if case .failure(let error) = result { return message(file, error) }
      }
      return nil
    }
  }

  private func message(_ file: Download, _ error: any Error) -> String {
    "fetch: \(file.name): \(reason(for: error))"
  }

  /// Redraws twice a second until ``finish()``, for values that change without an event.
  func tick() -> Promise<Void> {
    if isQuiet { return .value(()) }
    return Promise.after(.milliseconds(500)).then(on: .immediate) { [self] in
      change { _ in nil }
      return state.withLock { $0.isFinished } ? .value(()) : tick()
    }
  }

  /// Writes `line`, which is about the whole run.
  func say(_ line: String) { StandardStreams.writeError("\(line)\n") }

  func finish() {
    state.withLock { state in
      guard !state.isFinished else { return }
      state.isFinished = true
      let text = state.renderer.finish(state.board.reading(at: .now - start))
      if !isQuiet { StandardStreams.writeError(text) }
    }
  }

  /// Changes the state, and redraws the progress if it is due; a line that `body` returns is
  /// written above it.
  private func change(_ body: (inout State) -> String?) {
    // Written under the lock, so that lines of two threads don't mix.
    state.withLock { state in
      let line = body(&state)
      let elapsed = ContinuousClock.now - start
      guard !state.isFinished, line != nil || state.renderer.isDue(elapsed) else { return }
      let reading = state.board.reading(at: elapsed)
      let text = line.map { state.renderer.announce($0, reading) } ?? state.renderer.update(reading)
      if let text { StandardStreams.writeError(text) }
    }
  }
}

/// Returns a message that explains why a download failed, without repeated reasons.
func reason(for error: any Error) -> String {
  switch error {
  case let error as GivenUp:
    (error.errors.count == 1 ? "" : "\(error.errors.count) attempts failed: ")
      + distinctReasons(error.errors)
  case let error as AggregateError: distinctReasons(error.errors)
  case let error as HTTPStatusError:
    "HTTP status \(error.status) from \(error.url.map(place) ?? "the server")"
  // The message may quote the server.
  default: "\(error)".printable
  }
}

private func place(of url: URL) -> String {
  "\(url.host() ?? "")\(url.port.map { ":\($0)" } ?? "")\(url.path())"
}

private func distinctReasons(_ errors: [any Error]) -> String {
  var reasons: [String] = []
  for reason in errors.map(reason) where !reasons.contains(reason) { reasons.append(reason) }
  return reasons.joined(separator: "; ")
}
