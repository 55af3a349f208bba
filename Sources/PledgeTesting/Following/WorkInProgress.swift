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
    /// Whether some of it has run on the main queue since the last wait.
    var usesMain = false
    /// The addresses of its tasks' jobs.
    var members: Set<UInt> = []
  }

  private let state = Mutex(State())
  private let idle = DispatchSemaphore(value: 0)

  deinit { Members.remove(state.withLock { $0.members }) }

  func add(_ member: UInt) { state.withLock { _ = $0.members.insert(member) } }

  func begin(isAnnounced: Bool = false, onMain: Bool = false) {
    state.withLock { state in
      if onMain { state.usesMain = true }
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
      let (changes, usesMain): (Int?, Bool) = state.withLock { state in
        if state.count <= state.stuck { return (nil, exchange(&state.usesMain, with: false)) }
        state.isAwaited = true
        return (state.changes, false)
      }
      guard let changes else {
        // The job of a `Task.yield()` on the main actor goes to the main queue unseen.
        if usesMain, waitForMain() { continue }
        return
      }
      if idle.wait(timeout: .now() + .seconds(1)) == .success { continue }
      let isStuck = state.withLock { state in
        guard state.changes == changes, state.announced == 0 else { return false }
        state.stuck = state.count
        return true
      }
      if isStuck { return }
    }
  }

  /// Blocks until the main queue has run what it contains; returns whether it has in a second.
  private func waitForMain() -> Bool {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.main.async { done.signal() }
    return done.wait(timeout: .now() + .seconds(1)) == .success
  }
}
