import Dispatch
import Pledge

/// The work that follows from code that uses a clock: handlers on the way to their queues, and jobs
/// of tasks and actors.
///
/// Time passes only when it has ended; see `Following`, which counts it.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class WorkInProgress: Sendable {
  private struct State {
    var count = 0
    /// How much of it hasn't begun to run, or is announced: it doesn't wait for time to pass.
    var waiting = 0
    /// The work that didn't end in time, for which no later wait waits.
    var stuck = 0
    /// Increases with each beginning and end.
    var changes = 0
    var isAwaited = false
    /// The addresses of its tasks' jobs.
    var members: Set<UInt> = []
  }

  private let state = Mutex(State())
  private let idle = DispatchSemaphore(value: 0)

  deinit { Members.remove(state.withLock { $0.members }, of: ObjectIdentifier(self)) }

  func add(_ task: UInt) { state.withLock { _ = $0.members.insert(task) } }

  /// Counts work that will run.
  func add() {
    state.withLock { state in
      state.count += 1
      state.waiting += 1
      state.changes += 1
    }
  }

  /// Notes that work runs now.
  func begin() {
    state.withLock { state in
      state.waiting -= 1
      state.changes += 1
    }
  }

  func end() {
    let isIdle = state.withLock { state in
      state.count -= 1
      state.changes += 1
      state.stuck = min(state.stuck, state.count)
      guard state.isAwaited, state.count <= state.stuck else { return false }
      state.isAwaited = false
      return true
    }
    if isIdle { idle.signal() }
  }

  var isIdle: Bool { state.withLock { $0.count <= $0.stuck } }

  /// Blocks until all work has ended, or what is left of it waits for time to pass.
  ///
  /// Work that runs waits if nothing has changed for a second: a handler that blocks its thread until
  /// time has passed, for example, never ends. Work that hasn't begun waits if nothing has changed for
  /// five seconds, and then all global queues have served what they contained: an executor holds it. On
  /// a busy machine, it only waits for its turn. A task that yields until time has passed makes many
  /// thousands of changes; this method blocks for five seconds for it, once.
  func waitUntilIdle() {
    let deadline = DispatchTime.now() + .seconds(5)
    let first = state.withLock { $0.changes }
    var changesBeforeMain: Int?
    while true {
      let (changes, isIdle) = state.withLock { state in
        state.isAwaited = state.count > state.stuck
        return (state.changes, !state.isAwaited)
      }
      if isIdle {
        // Another round, if these queues contained work that changed something.
        if changes == changesBeforeMain || changes - first > Self.loopLength { return }
        changesBeforeMain = changes
        // A task that yields after it has called an actor is on a global queue, unseen.
        GlobalQueues.wait(until: .now() + .milliseconds(100))
        guard MainQueue.wait() else { return }
        continue
      }
      if waitForASecond() { continue }
      let isLate = DispatchTime.now() > deadline
      if isLate { GlobalQueues.wait(until: .distantFuture) }
      let isStuck = state.withLock { state in
        if state.changes == changes {
          guard isLate || state.waiting == 0 else { return false }
        } else {
          guard isLate, state.changes - first > Self.loopLength else { return false }
        }
        state.stuck = state.count
        return true
      }
      if isStuck { return }
    }
  }

  /// Blocks until all work has ended, but for a second at most; returns whether it has.
  ///
  /// In ten parts, so that on a busy machine, where this thread waits for a core ten times, threads
  /// that run work have had theirs, too.
  private func waitForASecond() -> Bool {
    (0..<10).contains { _ in idle.wait(timeout: .now() + .milliseconds(100)) == .success }
  }

  /// The number of changes that only a loop makes.
  private static let loopLength = 10_000
}

/// Waits for the global queues, which run the jobs of tasks that are followed.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private enum GlobalQueues {
  /// Blocks until each has begun to run what it contains, or until a deadline.
  static func wait(until deadline: DispatchTime) {
    let group = DispatchGroup()
    for quality in [DispatchQoS.QoSClass.userInitiated, .default, .utility, .background] {
      DispatchQueue.global(qos: quality).async(group: group) {}
    }
    _ = group.wait(timeout: deadline)
  }
}

/// Waits for the main queue, to which the runtime sends jobs of the main actor unseen.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private enum MainQueue {
  /// Whether the main thread is blocked, or serves no queue.
  private static let isStuck = Mutex(false)

  /// Blocks until the main queue has run what it contains; returns whether it has in a second.
  static func wait() -> Bool {
    if isStuck.withLock({ $0 }) { return false }
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.main.async {
      Following.noteMainThread()
      isStuck.withLock { $0 = false }
      done.signal()
    }
    if done.wait(timeout: .now() + .seconds(1)) == .success { return true }
    isStuck.withLock { $0 = true }
    return false
  }
}
