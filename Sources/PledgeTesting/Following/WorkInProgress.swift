import Dispatch
import Pledge

/// The work that follows from code that uses a clock: handlers on the way to their queues, and jobs
/// of tasks and actors.
///
/// Time passes only when it has ended; see `Following`, which counts it.
final class WorkInProgress: Sendable {
  private struct State {
    var count = 0
    /// The promises for which the test holds the time.
    var announced = 0
    /// The work that didn't end in time, for which no later wait waits.
    var stuck = 0
    /// Increases with each beginning and end.
    var changes = 0
    var isAwaited = false
  }

  private let state = Mutex(State())
  private let idle = DispatchSemaphore(value: 0)

  func begin(isAnnounced: Bool = false) {
    state.withLock { state in
      state.count += 1
      if isAnnounced { state.announced += 1 }
      state.changes += 1
    }
  }

  func end(isAnnounced: Bool = false) {
    let isIdle = state.withLock { state in
      state.count -= 1
      if isAnnounced { state.announced -= 1 }
      state.changes += 1
      state.stuck = min(state.stuck, state.count)
      guard state.isAwaited, state.count <= state.stuck else { return false }
      state.isAwaited = false
      return true
    }
    if isIdle { idle.signal() }
  }

  var isIdle: Bool { state.withLock { $0.count <= $0.stuck } }

  /// Blocks until all work has ended, or none of it has begun or ended for a second.
  ///
  /// A handler that blocks its thread until time has passed, for example, never ends.
  func waitUntilIdle() {
    while true {
      let changes: Int? = state.withLock { state in
        if state.count <= state.stuck { return nil }
        state.isAwaited = true
        return state.changes
      }
      guard let changes else { return }
      if idle.wait(timeout: .now() + .seconds(1)) == .success { continue }
      let isStuck = state.withLock { state in
        guard state.changes == changes, state.announced == 0 else { return false }
        state.stuck = state.count
        return true
      }
      if isStuck { return }
    }
  }
}
